//! Decimals of any width: as text, and as the nearest double with the exact rest.

/// Bytes of an unscaled value at most; Parquet's widest useful decimal has 32.
const MAX_BYTES: usize = 64;
/// Digits after the point at most; 64 bytes hold 154 digits.
const MAX_SCALE: u32 = 160;
/// Powers of ten are multiplied and divided by this many digits at a time.
const CHUNK_DIGITS: u32 = 9;
const CHUNK: u32 = 1_000_000_000;

/// A decimal: sign, magnitude in 32-bit limbs (least significant first, none of them zero at the
/// end), and the digits after the point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    magnitude: Vec<u32>,
    scale: u32,
}

impl Decimal {
    /// From a big-endian two's complement unscaled value; none if it is wider than 64 bytes
    /// or has more than 160 digits after the point (only a crafted file has).
    pub(super) fn from_bytes(bytes: &[u8], scale: i32) -> Option<Self> {
        let scale = u32::try_from(scale)
            .ok()
            .filter(|scale| *scale <= MAX_SCALE)?;
        let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
        let padding = if negative { 0xff } else { 0 };
        let start = bytes.iter().position(|byte| *byte != padding);
        let bytes = bytes.get(start.unwrap_or(bytes.len())..)?;
        if bytes.len() > MAX_BYTES {
            return None;
        }
        let mut magnitude: Vec<u32> = bytes
            .rchunks(4)
            .map(|limb| {
                let start = if negative { u32::MAX } else { 0 };
                limb.iter()
                    .fold(start, |limb, byte| limb << 8 | u32::from(*byte))
            })
            .collect();
        if negative {
            // The magnitude of a negative number in two's complement: all bits flipped, plus one.
            let mut carry = true;
            for limb in &mut magnitude {
                (*limb, carry) = (!*limb).overflowing_add(u32::from(carry));
            }
            if carry {
                magnitude.push(1);
            }
        }
        trim(&mut magnitude);
        Some(Self {
            negative: negative && !magnitude.is_empty(),
            magnitude,
            scale,
        })
    }

    /// From an unscaled value.
    pub(super) fn from_int(unscaled: i64, scale: i32) -> Self {
        let size = unscaled.unsigned_abs();
        let mut magnitude = vec![size as u32, (size >> 32) as u32];
        trim(&mut magnitude);
        Self {
            negative: unscaled < 0,
            magnitude,
            scale: u32::try_from(scale).unwrap_or(0).min(MAX_SCALE),
        }
    }

    /// The digits of the unscaled value, without sign.
    fn digits(&self) -> String {
        let mut rest = self.magnitude.clone();
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            chunks.push(divide(&mut rest, CHUNK));
        }
        let mut text = chunks.pop().unwrap_or(0).to_string();
        for chunk in chunks.iter().rev() {
            text.push_str(&format!("{chunk:09}"));
        }
        text
    }

    /// The nearest double, and what is missing from it to the exact value, in units of the double's
    /// last place (within half a unit, correctly rounded to about 2^-50 of itself). Equal values of
    /// different scales give equal results.
    pub(super) fn to_double(&self) -> (f64, f64) {
        let mut value = self.clone();
        value.drop_zeros();
        let text = format!("{}e-{}", value.digits(), value.scale);
        let double: f64 = text.parse().unwrap_or(f64::INFINITY);
        let (mantissa, exponent) = split_double(double);
        // exact = magnitude / 10^scale, double = mantissa * 2^exponent: both times 10^scale and the
        // power of two that makes them whole.
        let mut exact = value.magnitude.clone();
        let mut nearest = vec![mantissa as u32, (mantissa >> 32) as u32];
        trim(&mut nearest);
        multiply_power_of_ten(&mut nearest, value.scale);
        if exponent < 0 {
            shift_left(&mut exact, exponent.unsigned_abs());
        } else {
            shift_left(&mut nearest, exponent.unsigned_abs());
        }
        let below = less(&exact, &nearest);
        let (greater, smaller) = if below {
            (nearest, exact)
        } else {
            (exact, nearest)
        };
        let ten: f64 = format!("1e{}", value.scale)
            .parse()
            .unwrap_or(f64::INFINITY);
        let last_place = if exponent < 0 {
            1.0
        } else {
            power_of_two(exponent)
        };
        let missing = to_f64(&subtract(greater, &smaller)) / ten / last_place;
        let sign = if self.negative { -1.0 } else { 1.0 };
        let missing = if below { -missing } else { missing };
        (sign * double, sign * missing)
    }

    /// Takes off the zeros at the end of the digits after the point.
    fn drop_zeros(&mut self) {
        if self.magnitude.is_empty() {
            self.scale = 0;
        }
        while self.scale > 0 {
            let mut shorter = self.magnitude.clone();
            if divide(&mut shorter, 10) != 0 {
                return;
            }
            self.magnitude = shorter;
            self.scale -= 1;
        }
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scale = self.scale as usize;
        let digits = format!("{:0>width$}", self.digits(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let sign = if self.negative { "-" } else { "" };
        let point = if scale > 0 { "." } else { "" };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}

/// A finite double that is not negative as mantissa * 2^exponent.
pub(super) fn split_double(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52 & 0x7ff) as i32 {
        0 => (fraction, -1074),
        exponent => (fraction | 1 << 52, exponent - 1075),
    }
}

/// 2^exponent, for 0 to 1023.
pub(super) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits((exponent.clamp(0, 1023).unsigned_abs() as u64 + 1023) << 52)
}

fn trim(limbs: &mut Vec<u32>) {
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
}

/// Divides in place, and returns the remainder.
fn divide(limbs: &mut Vec<u32>, by: u32) -> u32 {
    let mut rest = 0_u64;
    for limb in limbs.iter_mut().rev() {
        let part = rest << 32 | u64::from(*limb);
        *limb = (part / u64::from(by)) as u32;
        rest = part % u64::from(by);
    }
    trim(limbs);
    rest as u32
}

fn multiply(limbs: &mut Vec<u32>, by: u32) {
    let mut carry = 0_u64;
    for limb in limbs.iter_mut() {
        let part = u64::from(*limb) * u64::from(by) + carry;
        *limb = part as u32;
        carry = part >> 32;
    }
    if carry > 0 {
        limbs.push(carry as u32);
    }
}

fn multiply_power_of_ten(limbs: &mut Vec<u32>, digits: u32) {
    for _ in 0..digits / CHUNK_DIGITS {
        multiply(limbs, CHUNK);
    }
    multiply(limbs, 10_u32.pow(digits % CHUNK_DIGITS));
}

fn shift_left(limbs: &mut Vec<u32>, bits: u32) {
    multiply(limbs, 1 << (bits % 32));
    if !limbs.is_empty() {
        limbs.splice(0..0, std::iter::repeat_n(0, (bits / 32) as usize));
    }
}

fn less(a: &[u32], b: &[u32]) -> bool {
    let by_limbs = || a.iter().rev().cmp(b.iter().rev());
    a.len().cmp(&b.len()).then_with(by_limbs).is_lt()
}

/// `a - b`, where `a` is not less.
fn subtract(mut a: Vec<u32>, b: &[u32]) -> Vec<u32> {
    let mut borrow = false;
    for (index, limb) in a.iter_mut().enumerate() {
        let (part, first) = limb.overflowing_sub(b.get(index).copied().unwrap_or(0));
        let (part, second) = part.overflowing_sub(u32::from(borrow));
        *limb = part;
        borrow = first || second;
    }
    trim(&mut a);
    a
}

/// A double near a whole number; greater numbers never give smaller doubles.
fn to_f64(limbs: &[u32]) -> f64 {
    // The three highest limbs hold at least 65 significant bits, more than a double keeps.
    let low = limbs.len().saturating_sub(3);
    let high = limbs.iter().skip(low).rev();
    let head = high.fold(0_u128, |value, limb| value << 32 | u128::from(*limb));
    head as f64 * power_of_two((low * 32).min(1023) as i32)
}

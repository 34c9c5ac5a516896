//! What normalisation and the token rule must know of a character, in one look-up.

use std::sync::LazyLock;

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::{IsNormalized, char::canonical_combining_class, is_nfc_quick};
use unicode_script::{Script, UnicodeScript};

/// A set of properties of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class(u8);

impl Class {
    const SPACE: u8 = 1;
    const PUNCTUATION: u8 = 2;
    const ALONE: u8 = 4;
    const LOWERS: u8 = 8;
    const UNSETTLED: u8 = 16;
    const SIGMA: u8 = 32;

    /// White_Space.
    pub(crate) fn is_space(self) -> bool {
        self.0 & Self::SPACE != 0
    }

    /// General category P*.
    pub(crate) fn is_punctuation(self) -> bool {
        self.0 & Self::PUNCTUATION != 0
    }

    /// A token of its own: a character of a script that is written without spaces.
    pub(crate) fn is_alone(self) -> bool {
        self.0 & Self::ALONE != 0
    }

    /// Differs from its lower-case form.
    pub(crate) fn lowers(self) -> bool {
        self.0 & Self::LOWERS != 0
    }

    /// A starter that NFC leaves alone, whatever stands before it.
    pub(crate) fn is_settled(self) -> bool {
        self.0 & Self::UNSETTLED == 0
    }

    /// The capital sigma, whose lower-case form depends on its neighbours.
    pub(crate) fn is_sigma(self) -> bool {
        self.0 & Self::SIGMA != 0
    }

    /// The properties, from the tables of Unicode.
    fn compute(c: char) -> Self {
        let mut class = 0;
        if c.is_whitespace() {
            class |= Self::SPACE;
        }
        if is_punctuation(get_general_category(c)) {
            class |= Self::PUNCTUATION;
        }
        if is_written_without_spaces(c.script()) {
            class |= Self::ALONE;
        }
        if !c.to_lowercase().eq([c]) {
            class |= Self::LOWERS;
        }
        if is_nfc_quick([c].into_iter()) != IsNormalized::Yes || canonical_combining_class(c) != 0 {
            class |= Self::UNSETTLED;
        }
        if c == 'Σ' {
            class |= Self::SIGMA;
        }
        Self(class)
    }
}

fn is_punctuation(category: GeneralCategory) -> bool {
    matches!(
        category,
        GeneralCategory::ConnectorPunctuation
            | GeneralCategory::DashPunctuation
            | GeneralCategory::OpenPunctuation
            | GeneralCategory::ClosePunctuation
            | GeneralCategory::InitialPunctuation
            | GeneralCategory::FinalPunctuation
            | GeneralCategory::OtherPunctuation
    )
}

fn is_written_without_spaces(script: Script) -> bool {
    matches!(
        script,
        Script::Han
            | Script::Hiragana
            | Script::Katakana
            | Script::Thai
            | Script::Lao
            | Script::Khmer
            | Script::Myanmar
            | Script::Tibetan
    )
}

/// The classes of all characters: planes 0 and 1 (all but rare ideographs) in a table, the rest computed.
#[derive(Debug)]
pub(crate) struct Classes {
    low: Vec<Class>,
}

/// The table of the process.
pub(crate) static CLASSES: LazyLock<Classes> = LazyLock::new(|| Classes {
    low: (0..0x2_0000)
        .map(|code| char::from_u32(code).map_or(Class(0), Class::compute))
        .collect(),
});

impl Classes {
    /// The class of a character.
    pub(crate) fn of(&self, c: char) -> Class {
        match self.low.get(c as usize) {
            Some(class) => *class,
            None => Class::compute(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    fn of(c: char) -> Class {
        CLASSES.of(c)
    }

    /// All but planes that hold nothing, or private use only.
    fn characters() -> impl Iterator<Item = char> {
        ('\0'..='\u{33fff}').chain('\u{e0000}'..='\u{e0fff}')
    }

    #[test]
    fn each_script_without_spaces_stands_alone() {
        // One of each; 𠀀 is Han beyond the table, カ and half-width ｶ both Katakana, 々 and 〇 Han.
        for c in "中々〇𠀀あカｶกກកကཀ".chars() {
            assert!(of(c).is_alone(), "{c}");
        }
        // The long-vowel mark and the ideographic stop are Common, and Japanese by Script_Extensions alone.
        for c in "aéж한ー。、फ฿😀".chars() {
            assert!(!of(c).is_alone(), "{c}");
        }
    }

    #[test]
    fn white_space_is_unicodes() {
        let spaces: String = characters().filter(|c| of(*c).is_space()).collect();
        assert_eq!(
            spaces,
            "\t\n\u{b}\u{c}\r \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\
             \u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}"
        );
    }

    #[test]
    fn punctuation_is_no_symbol() {
        let ascii: String = ('\0'..='\x7f')
            .filter(|c| of(*c).is_punctuation())
            .collect();
        assert_eq!(ascii, "!\"#%&'()*,-./:;?@[\\]_{}");
        assert!("“’—。、«»¿".chars().all(|c| of(c).is_punctuation()));
        assert!(!"$+<=>^`|~€©√".chars().any(|c| of(c).is_punctuation()));
    }

    #[test]
    fn lower_casing_twice_is_lower_casing_once() {
        // Normalisation relies on it for texts with a capital sigma.
        for c in characters() {
            assert!(c.to_lowercase().all(|l| !of(l).lowers()), "{c}");
        }
    }

    #[test]
    fn a_settled_character_begins_with_one_when_decomposed() {
        // So nothing before it can compose with it, and NFC may be done segment by segment.
        for c in characters().filter(|c| of(*c).is_settled()) {
            assert!(c.nfd().next().is_some_and(|d| of(d).is_settled()), "{c}");
            assert!(c.nfc().eq([c]), "{c}");
        }
    }

    #[test]
    fn only_a_sigma_composes_to_a_sigma() {
        // So the single pass meets it before it meets NFC.
        for c in characters() {
            assert!(c == 'Σ' || !c.nfc().any(|n| of(n).is_sigma()), "{c}");
        }
    }

    #[test]
    fn the_table_agrees_with_the_computation() {
        for c in characters() {
            assert_eq!(of(c), Class::compute(c), "{c}");
        }
        assert_eq!(CLASSES.low.len(), 0x2_0000);
    }
}

//! Prints the README's table of manifest keys.

fn main() {
    for key in manifest::reference() {
        let default = match (key.default, key.required) {
            (Some(default), _) => format!("`{default}`"),
            (None, true) => "(required)".to_owned(),
            (None, false) => "(none)".to_owned(),
        };
        println!(
            "| `{}.{}` | {} | {default} | {} |",
            key.table, key.key, key.kind, key.doc
        );
    }
}

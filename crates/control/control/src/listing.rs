//! Lists of what is valid, for messages: short ones, because answers have little room.

/// The most names that a message lists.
const FEW: usize = 8;

/// `; there are a, b and 5 more`, or that there is nothing.
pub fn those<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names = names.peekable();
    if names.peek().is_none() {
        return "; there are none".into();
    }
    let few: Vec<&str> = names.by_ref().take(FEW).collect();
    match names.count() {
        0 => format!("; there are {}", few.join(", ")),
        more => format!("; there are {} and {more} more", few.join(", ")),
    }
}

/// The same of numbered objects, with the one whose number is nearest: `; the nearest is a (0x2000001); there are a, b`.
pub fn numbered<'n>(id: u32, objects: impl Iterator<Item = (u32, &'n str)>) -> String {
    let mut objects: Vec<(u32, &str)> = objects.collect();
    objects.sort_unstable();
    let nearest = objects.iter().min_by_key(|(known, _)| known.abs_diff(id));
    let nearest = nearest.map_or_else(String::new, |(known, name)| format!("; the nearest is `{name}` ({known:#x})"));
    let names: Vec<String> = objects.iter().map(|(known, name)| format!("{name} ({known:#x})")).collect();
    nearest + &those(names.iter().map(String::as_str))
}

//! Names that are near others: what was probably meant.

/// The candidate most similar to `name`, if any is similar enough.
pub fn nearest<'n>(name: &str, candidates: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    candidates
        .filter(|c| *c != name)
        .filter_map(|c| {
            let d = if c.eq_ignore_ascii_case(name) { 0 } else { distance(name, c) };
            (d <= limit).then_some((d, c))
        })
        .min()
        .map(|(_, c)| c)
}

/// Edit distance with transpositions (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    if a.len().abs_diff(b.len()) > 3 || a.len() > 64 {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let swap = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + swap);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn distances_count_edits_and_swaps() {
        assert_eq!(distance("ethernet", "ethernet"), 0);
        assert_eq!(distance("ethrenet", "ethernet"), 1);
        assert_eq!(distance("ipv4", "ipv6"), 1);
        assert_eq!(distance("ab", "abcd"), 2);
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["ethernet", "ipv4", "Foo"];
        assert_eq!(nearest("ethrnet", names.into_iter()), Some("ethernet"));
        assert_eq!(nearest("foo", names.into_iter()), Some("Foo"));
        assert_eq!(nearest("standard", names.into_iter()), None);
    }
}

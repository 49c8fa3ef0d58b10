//! A height or width shared out by weights.

/// One part of what is shared out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeShare {
    /// Its share against the others'.
    pub weight: u16,
    /// The smallest useful size.
    pub least: u16,
    /// The largest useful size.
    pub most: u16,
}

/// Sizes that add up to `room`: each part has its least, and by weight up to its most.
pub(crate) fn share(room: u16, parts: &[SizeShare]) -> Vec<u16> {
    let mut sizes: Vec<u16> = parts.iter().map(|p| p.least).collect();
    squeeze(&mut sizes, room);
    let mut spare = room.saturating_sub(sizes.iter().sum());
    while spare > 0 {
        let Some(at) = poorest(&sizes, parts) else {
            break;
        };
        sizes[at] += 1;
        spare -= 1;
    }
    sizes
}

/// Where not even the least fits, the largest give way.
fn squeeze(sizes: &mut [u16], room: u16) {
    let mut over = sizes.iter().sum::<u16>().saturating_sub(room);
    while over > 0 {
        let Some(largest) = sizes.iter_mut().max() else {
            return;
        };
        *largest = largest.saturating_sub(1);
        over -= 1;
    }
}

/// The part with the least for its weight, of those that can use more; else of all.
fn poorest(sizes: &[u16], parts: &[SizeShare]) -> Option<usize> {
    let open = |at: &usize| sizes[*at] < parts[*at].most;
    let rich = |at: &usize| u32::from(sizes[*at]) * 1000 / u32::from(parts[*at].weight.max(1));
    let all = 0..parts.len();
    let wanting = all.clone().filter(open).min_by_key(rich);
    wanting.or_else(|| all.min_by_key(rich))
}

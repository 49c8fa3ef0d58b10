//! Bilinear resize with half-pixel centres, as PyTorch's `align_corners=False` without
//! anti-aliasing: what its taps are, and whole images channel by channel.

/// Two neighbours along one side, and the share of the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tap {
    pub low: usize,
    pub high: usize,
    pub share: f32,
}

impl Tap {
    pub fn between(self, low: f32, high: f32) -> f32 {
        low * (1.0 - self.share) + high * self.share
    }
}

/// What each of `to` positions reads of `from`.
pub(super) fn taps(from: usize, to: usize) -> Vec<Tap> {
    let scale = from as f32 / to as f32;
    (0..to)
        .map(|i| {
            let at = ((i as f32 + 0.5) * scale - 0.5).max(0.0);
            let low = (at as usize).min(from - 1);
            Tap {
                low,
                high: (low + 1).min(from - 1),
                share: at - low as f32,
            }
        })
        .collect()
}

/// Resizes planes (channels of images, rows after rows) of `from` height and width to
/// `to` height and width; as many planes as both slices hold.
pub fn resize_planes(from: (usize, usize), to: (usize, usize), input: &[f32], output: &mut [f32]) {
    let (rows, columns) = (taps(from.0, to.0), taps(from.1, to.1));
    let planes = input.chunks_exact(from.0 * from.1);
    for (plane, out) in planes.zip(output.chunks_exact_mut(to.0 * to.1)) {
        for (v, line) in rows.iter().zip(out.chunks_exact_mut(to.1)) {
            let (top, bottom) = (
                &plane[v.low * from.1..][..from.1],
                &plane[v.high * from.1..][..from.1],
            );
            for (h, value) in columns.iter().zip(line) {
                let above = h.between(top[h.low], top[h.high]);
                let below = h.between(bottom[h.low], bottom[h.high]);
                *value = v.between(above, below);
            }
        }
    }
}

//! Instances on devices: nothing holds more than it has, and differences lead from one to another.

use divisi_modelless::placement::{DeviceSlot, HostedInstances, PlacementError};
use divisi_modelless::variants::{DeviceKindIndex, VariantIndex};
use proptest::prelude::*;

use crate::common::{Sketch, catalog, task};

proptest! {
    #[test]
    fn random_steps_never_overbook_and_their_difference_repeats_them(
        steps in prop::collection::vec((0..3_u32, 0..3_u16, any::<bool>()), 0..60),
    ) {
        let sketches = [300, 400, 700].map(|thousandths| Sketch {
            thousandths,
            device: u16::from(thousandths == 700),
            ..Sketch::default()
        });
        let catalog = catalog(2, vec![task("a", &sketches)]);
        let kinds = [0, 0, 1].map(DeviceKindIndex);
        let empty = HostedInstances::new(&catalog, &kinds);
        let mut hosted = empty.clone();
        for (variant, device, adds) in steps {
            let (variant, device) = (VariantIndex(variant), DeviceSlot(device));
            let before = hosted.clone();
            let done = match adds {
                true => hosted.add(&catalog, variant, device),
                false => hosted.remove(&catalog, variant, device),
            };
            if done.is_err() {
                prop_assert_eq!(&before, &hosted, "a refusal changes nothing");
            }
        }
        for device in hosted.devices() {
            let shares = hosted.hosted_on(device);
            let taken: u16 = shares.map(|(v, n)| n * catalog.variant(v).profile.share.get()).sum();
            prop_assert_eq!(taken + hosted.free_share(device), 1000);
        }
        let mut again = empty.clone();
        again.apply(&catalog, &hosted.changes_from(&empty)).expect("what was done");
        prop_assert_eq!(again, hosted);
    }
}

#[test]
fn an_instance_on_another_kind_of_device_is_refused() {
    let catalog = catalog(
        2,
        vec![task(
            "a",
            &[Sketch {
                device: 1,
                ..Sketch::default()
            }],
        )],
    );
    let mut hosted = HostedInstances::new(&catalog, &[DeviceKindIndex(0)]);
    let (variant, device) = (VariantIndex(0), DeviceSlot(0));
    let refused = hosted.add(&catalog, variant, device);
    assert_eq!(refused, Err(PlacementError::DoesNotFit(variant, device)));
}

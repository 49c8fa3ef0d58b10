//! The queries that a change of instances can affect, and the variants that queries need.

use divisi_modelless::demands::QueryStream;
use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::variants::{VariantCatalog, VariantIndex};

use super::evidence::InstancesChange;
use super::seconds::{QuerySecond, StreamSecond};

/// A variant on a device, with any number of instances.
pub(super) type HostedPlace = (DeviceSlot, VariantIndex);

/// The share of missed queries from which a stream counts as fully missed.
const FULLY: f64 = 0.99;

/// Returns the variants of each device that are only in the first plan.
pub(super) fn only_in(plan: &HostedInstances, other: &HostedInstances) -> Vec<HostedPlace> {
    let devices = plan.devices();
    let each = devices.flat_map(|device| {
        let on = plan.hosted_on(device);
        let on = on.filter(move |(variant, _)| other.count_on(*variant, device) == 0);
        on.map(move |(variant, _)| (device, variant))
    });
    each.collect()
}

/// Returns the streams of some seconds whose queries a change can make late: a variant that left
/// met their goals, or one came to a device where their queries are answered. Fully missed streams
/// are left out, as no change makes them worse.
pub(super) fn affected(
    catalog: &VariantCatalog,
    InstancesChange { before, after }: InstancesChange<'_>,
    seconds: &[QuerySecond],
) -> Vec<QueryStream> {
    let (came, left) = (only_in(after, before), only_in(before, after));
    let suits = |stream: &QueryStream, variant| meets(catalog, stream, variant);
    let is_affected = |stream: &QueryStream| {
        let is_left = left.iter().any(|(_, variant)| suits(stream, *variant));
        let shares = |device: DeviceSlot| {
            let mut hosted = after.hosted_on(device);
            hosted.any(|(variant, _)| suits(stream, variant))
        };
        is_left || came.iter().any(|(device, _)| shares(*device))
    };
    let mut streams: Vec<QueryStream> = Vec::new();
    for second in seconds.iter().flat_map(|second| &second.streams) {
        let is_new = second.over > 0 && !streams.contains(&second.stream);
        if is_new && is_affected(&second.stream) && !is_fully_missed(&second.stream, seconds) {
            streams.push(second.stream);
        }
    }
    streams
}

fn is_fully_missed(stream: &QueryStream, seconds: &[QuerySecond]) -> bool {
    let all = seconds.iter().flat_map(|second| &second.streams);
    let own = all.filter(|second| second.stream == *stream);
    let (over, missed) = own.fold((0, 0), |(over, missed), second| {
        (over + second.over, missed + second.missed)
    });
    f64::from(missed) >= FULLY * f64::from(over)
}

/// Returns whether a variant alone meets the goals of queries that no hosted variant meets.
pub(super) fn is_needed(
    catalog: &VariantCatalog,
    hosted: &HostedInstances,
    streams: &[StreamSecond],
    variant: VariantIndex,
) -> bool {
    let asked = streams.iter().filter(|s| s.rate > 0.0 || s.over > 0);
    let mut missed = asked.filter(|second| {
        let mut running = hosted.running();
        !running.any(|(other, _)| other != variant && meets(catalog, &second.stream, other))
    });
    missed.any(|second| meets(catalog, &second.stream, variant))
}

fn meets(catalog: &VariantCatalog, stream: &QueryStream, variant: VariantIndex) -> bool {
    catalog.task_of(variant) == stream.task && stream.goals.suits(catalog.variant(variant))
}

//! The wished places and batch sizes of models, as far as a matrix can express them: at most one
//! worker of a model on each device.

use divisi_model::allocation::{Cell, Footprints, Frame, Matrix};
use divisi_model::catalogue::{Catalogue, CatalogueEntry, InstanceGroup, InstancePlace};
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{Device, DeviceIndex, Devices, MemberIndex};

/// Returns the wished workers of the entries of a catalogue, for members with `is_free`.
pub(super) fn wished(
    catalogue: &Catalogue,
    frame: &Frame,
    devices: &Devices,
    is_free: impl Fn(MemberIndex) -> bool,
) -> Vec<(Cell, BatchSize)> {
    let size = frame.batch_sizes.smallest();
    let mut used = vec![0_usize; devices.count()];
    let mut cells = Vec::new();
    for (entry, member) in single(catalogue).filter(|(_, member)| is_free(*member)) {
        for device in places(entry.instances(), devices, &used) {
            used[device.get()] += 1;
            cells.push((Cell { device, member }, size));
        }
    }
    cells
}

/// Returns a matrix in which the workers of members with `is_free` grow from the smallest batch
/// size towards the first batch size of their entry.
///
/// They leave half of each device's memory free, because the next engine will start next to this
/// one.
pub(super) fn grown(
    mut matrix: Matrix,
    catalogue: &Catalogue,
    devices: &Devices,
    footprints: &Footprints,
    is_free: impl Fn(MemberIndex) -> bool,
) -> Matrix {
    for (entry, member) in single(catalogue).filter(|(_, member)| is_free(*member)) {
        let Some(wanted) = entry.first_batch() else {
            continue;
        };
        let column: Vec<_> = matrix.column(member).collect();
        for (device, _) in column.into_iter().filter(|(_, size)| size.is_some()) {
            let mut larger = larger(&matrix, Cell { device, member }, wanted);
            let found = larger.find(|m| leaves_half(m, device, devices, footprints));
            drop(larger);
            matrix = found.unwrap_or(matrix);
        }
    }
    matrix
}

/// Returns matrices with each larger batch size up to `wanted` in a cell, the largest first.
fn larger(matrix: &Matrix, cell: Cell, wanted: BatchSize) -> impl Iterator<Item = Matrix> + '_ {
    let sizes: Vec<BatchSize> = matrix.frame().batch_sizes.iter().collect();
    let now = matrix.get(cell);
    let sizes = sizes.into_iter().rev();
    let larger = sizes.filter(move |size| *size <= wanted && Some(*size) > now);
    larger.filter_map(move |size| matrix.with_entry(cell, Some(size)).ok())
}

fn leaves_half(
    matrix: &Matrix,
    device: DeviceIndex,
    devices: &Devices,
    footprints: &Footprints,
) -> bool {
    let booked = footprints.book(matrix, devices);
    booked.is_ok_and(|ledger| ledger.booked(device) <= devices.memory_bytes(device) / 2)
}

/// Returns remarks on wishes of the model called `name` that the devices cannot meet.
pub fn instance_remarks(name: &str, wishes: &[InstanceGroup], devices: &Devices) -> Vec<String> {
    let remark = |group: &InstanceGroup| {
        let there = suitable(group, devices).len();
        let on = match group.place {
            InstancePlace::Gpus => "GPUs",
            InstancePlace::Processors | InstancePlace::Any => "devices",
        };
        let why = match (there, group.count) {
            (0, _) => format!("this server has no such {on}"),
            (there, count) if is_each(group) && count > 1 => {
                format!(
                    "one instance on each of {there} {on}, not {count}; its lanes run in parallel"
                )
            }
            (there, count) if !is_each(group) && count > there => {
                format!("one instance on each of {there} {on}, not {count} in all")
            }
            _ => return None,
        };
        Some(format!(
            "model `{name}`: `instance_group` of its config.pbtxt: {why}"
        ))
    };
    wishes.iter().filter_map(remark).collect()
}

/// Returns the entries of a single member, which alone can wish for places.
fn single(catalogue: &Catalogue) -> impl Iterator<Item = (&CatalogueEntry, MemberIndex)> {
    let entries = catalogue.entries().iter();
    entries.filter_map(|entry| match entry.columns()[..] {
        [member] => Some((entry, member)),
        _ => None,
    })
}

/// Returns the entry that consists of the column's member, or `None` if only larger entries contain
/// it.
pub(super) fn own_entry(catalogue: &Catalogue, column: MemberIndex) -> Option<&CatalogueEntry> {
    let mut single = single(catalogue);
    single.find_map(|(entry, member)| (member == column).then_some(entry))
}

/// Returns the devices of groups, each once, the least used first.
fn places(groups: &[InstanceGroup], devices: &Devices, used: &[usize]) -> Vec<DeviceIndex> {
    let mut all: Vec<DeviceIndex> = Vec::new();
    for group in groups {
        let mut suitable = suitable(group, devices);
        suitable.retain(|device| !all.contains(device));
        suitable.sort_by_key(|device| used[device.get()]);
        if !is_each(group) {
            suitable.truncate(group.count);
        }
        all.extend(suitable);
    }
    all
}

/// Returns whether a group has instances on each of its devices, not a total number.
fn is_each(group: &InstanceGroup) -> bool {
    group.place == InstancePlace::Gpus || !group.gpus.is_empty()
}

/// Returns the devices of a group.
fn suitable(group: &InstanceGroup, devices: &Devices) -> Vec<DeviceIndex> {
    let accelerates = |device: &Device| device.kind.is_accelerator();
    let any_gpu = devices.iter().any(accelerates);
    let wants_gpus = match group.place {
        InstancePlace::Gpus => true,
        InstancePlace::Processors => false,
        InstancePlace::Any => any_gpu,
    };
    let numbered = (0..devices.count()).map(DeviceIndex::new);
    let of_kind = numbered.filter(|index| match devices.gpu_number(*index) {
        None => !wants_gpus,
        Some(number) => wants_gpus && (group.gpus.is_empty() || group.gpus.contains(&number)),
    });
    of_kind.collect()
}

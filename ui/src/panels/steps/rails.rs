//! A graph of steps as rows of signs: a lane for each result that a later step reads, and on each
//! row the lanes that its step reads.

use divisi_engine::serving::StepGraph;

/// A row: its step, and the signs before its name, each with its membership in the critical path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RailRow {
    /// The place of the step in its graph.
    pub step: usize,
    /// Two signs for each lane: its own, and the one between it and the next lane.
    pub signs: Vec<(&'static str, bool)>,
}

/// Returns the rows of a graph, layer by layer from its inputs to its outputs.
pub(super) fn rails(graph: &StepGraph) -> Vec<RailRow> {
    let path = CriticalPath::through(graph);
    let mut lanes = StepLanes::new(graph);
    let order = by_layer(graph).into_iter();
    order.map(|step| lanes.row(graph, &path, step)).collect()
}

/// Returns the steps by the length of the longest path to them.
fn by_layer(graph: &StepGraph) -> Vec<usize> {
    let mut layers: Vec<usize> = Vec::with_capacity(graph.steps.len());
    for step in &graph.steps {
        let before = step.needs.iter().map(|need| layers[*need] + 1);
        layers.push(before.max().unwrap_or(0));
    }
    let mut order: Vec<usize> = (0..layers.len()).collect();
    order.sort_by_key(|step| layers[*step]);
    order
}

/// The critical path: the steps that requests wait for most often, one after another.
pub(super) struct CriticalPath {
    /// The next step of each step on the path; the last step is its own next one.
    next: Vec<Option<usize>>,
}

impl CriticalPath {
    /// Follows the path back from the step that ends requests most often.
    pub(super) fn through(graph: &StepGraph) -> Self {
        let mut next = vec![None; graph.steps.len()];
        let critical = |step: &usize| graph.steps[*step].stats.critical;
        let ends = (0..graph.steps.len()).filter(|step| graph.steps[*step].stats.last > 0);
        let mut at = ends.max_by_key(|step| graph.steps[*step].stats.last);
        let mut after = at;
        while let Some(step) = at {
            next[step] = after;
            let needs = graph.steps[step].needs.iter().copied();
            at = needs.filter(|need| critical(need) > 0).max_by_key(critical);
            after = Some(step);
        }
        CriticalPath { next }
    }

    /// Returns whether a step is on the path.
    pub(super) fn has(&self, step: usize) -> bool {
        self.next[step].is_some()
    }

    fn goes(&self, from: usize, to: usize) -> bool {
        from != to && self.next[from] == Some(to)
    }
}

struct StepLanes {
    /// The step whose result each lane carries.
    carried: Vec<Option<usize>>,
    /// For each step, the steps that have yet to read its result.
    readers: Vec<usize>,
    /// Whether each step is drawn already.
    drawn: Vec<bool>,
}

/// The lanes joined by a row, from the first to the last.
struct JoinedLanes {
    first: usize,
    last: usize,
    own: usize,
}

impl StepLanes {
    fn new(graph: &StepGraph) -> Self {
        let mut readers = vec![0; graph.steps.len()];
        for need in graph.steps.iter().flat_map(|step| &step.needs) {
            readers[*need] += 1;
        }
        StepLanes {
            carried: Vec::new(),
            drawn: vec![false; readers.len()],
            readers,
        }
    }

    fn row(&mut self, graph: &StepGraph, path: &CriticalPath, step: usize) -> RailRow {
        let needs = &graph.steps[step].needs;
        for need in needs {
            self.readers[*need] -= 1;
        }
        let is_read = |carried: &Option<usize>| carried.is_some_and(|of| needs.contains(&of));
        let read = |lanes: &StepLanes| {
            let places = lanes.carried.iter().enumerate();
            let read = places.filter(|(_, carried)| is_read(carried));
            read.map(|(lane, _)| lane).collect::<Vec<_>>()
        };
        let read = read(self);
        let own = self.own_lane(&read);
        let joined = JoinedLanes {
            first: read.iter().copied().chain([own]).min().unwrap_or(own),
            last: read.iter().copied().chain([own]).max().unwrap_or(own),
            own,
        };
        let lit = |lane: usize| {
            let from = self.carried[lane];
            from.is_some_and(|from| path.goes(from, step))
        };
        let lit: Vec<usize> = read.iter().copied().filter(|lane| lit(*lane)).collect();
        let mut signs = Vec::with_capacity(2 * self.carried.len());
        for lane in 0..self.carried.len() {
            let is_lit = match lane == own {
                true => path.has(step),
                false => joined.leads(&lit, lane) || self.passes(path, lane, step),
            };
            signs.push((self.sign(&joined, &read, lane), is_lit));
            signs.push((joined.between(lane), joined.leads_on(&lit, lane)));
        }
        self.follow(step, own);
        RailRow { step, signs }
    }

    /// Returns the lane of a step: the lane of a result without further readers, or else a free
    /// one.
    fn own_lane(&mut self, read: &[usize]) -> usize {
        let ends = |lane: &usize| self.carried[*lane].is_none_or(|of| self.readers[of] == 0);
        if let Some(lane) = read.iter().copied().find(|lane| ends(lane)) {
            return lane;
        }
        let free = self.carried.iter().position(Option::is_none);
        free.unwrap_or_else(|| {
            self.carried.push(None);
            self.carried.len() - 1
        })
    }

    fn follow(&mut self, step: usize, own: usize) {
        self.drawn[step] = true;
        for carried in &mut self.carried {
            *carried = carried.filter(|of| self.readers[*of] > 0);
        }
        self.carried[own] = Some(step).filter(|step| self.readers[*step] > 0);
    }

    /// Returns whether the critical path follows a lane beyond this row.
    fn passes(&self, path: &CriticalPath, lane: usize, step: usize) -> bool {
        let next = self.carried[lane].and_then(|from| path.next[from]);
        next.is_some_and(|to| to != step && !self.drawn[to])
    }

    fn sign(&self, joined: &JoinedLanes, read: &[usize], lane: usize) -> &'static str {
        let goes_on = self.carried[lane].is_some_and(|of| self.readers[of] > 0);
        let JoinedLanes { first, last, own } = *joined;
        match (lane == own, read.contains(&lane), goes_on) {
            (true, ..) => "●",
            (_, true, true) if lane == first => "├",
            (_, true, true) if lane == last => "┤",
            (_, true, true) => "┼",
            (_, true, false) if lane == first => "╰",
            (_, true, false) if lane == last => "╯",
            (_, true, false) => "┴",
            _ if self.carried[lane].is_some() => "│",
            _ if (first..last).contains(&lane) => "─",
            _ => " ",
        }
    }
}

impl JoinedLanes {
    /// Returns the sign between a lane and the next one.
    fn between(&self, lane: usize) -> &'static str {
        match (self.first..self.last).contains(&lane) {
            true if lane + 1 == self.own => "▸",
            true if lane == self.own => "◂",
            true => "─",
            false => " ",
        }
    }

    /// Returns whether the way from one of these lanes to the row's own lane crosses a lane.
    fn leads(&self, from: &[usize], lane: usize) -> bool {
        let within = |from: usize| lane.clamp(from.min(self.own), from.max(self.own)) == lane;
        from.iter().any(|from| within(*from))
    }

    /// Returns whether the way continues to the next lane.
    fn leads_on(&self, from: &[usize], lane: usize) -> bool {
        self.leads(from, lane) && self.leads(from, lane + 1)
    }
}

//! The memory layout of an element: the components that a byte order reverses.

use super::DataType;

/// Components of the same width, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    /// Bytes of a component. 1 if it has no byte order.
    pub width: usize,
    /// The number of components.
    pub count: usize,
}

/// The components to reverse in elements of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteSwap {
    runs: Vec<Run>,
    size: usize,
}

impl ByteSwap {
    /// Makes the swap of all components. It does nothing for types that are not decoded.
    pub fn new(data_type: &DataType) -> Self {
        ByteSwap { runs: data_type.runs(), size: data_type.size().unwrap_or(0) }
    }

    /// Makes the swap of some fields of a struct. The fields of a nested struct follow in its position. A field without
    /// an entry is not swapped.
    pub fn of_fields(data_type: &DataType, is_swapped: &[bool]) -> Self {
        let (mut runs, mut is_swapped) = (Vec::new(), is_swapped.iter());
        data_type.collect_runs(&mut || is_swapped.next() == Some(&true), &mut runs);
        ByteSwap { runs, size: data_type.size().unwrap_or(0) }
    }

    /// Reverses the components of each element. A partial element at the end stays unchanged.
    pub fn apply(&self, elements: &mut [u8]) {
        for element in elements.chunks_exact_mut(self.size.max(1)) {
            let mut rest = element;
            for run in &self.runs {
                let (own, after) = rest.split_at_mut(run.width * run.count);
                if run.width > 1 {
                    own.chunks_exact_mut(run.width).for_each(<[u8]>::reverse);
                }
                rest = after;
            }
        }
    }
}

impl DataType {
    /// Returns the bytes of a component, if all components of an element are equal and have a byte order.
    pub fn component_size(&self) -> Option<usize> {
        if let [Run { width: width @ 2.., .. }] = self.runs().as_slice() { Some(*width) } else { None }
    }

    /// Returns true if the byte order matters.
    pub fn has_byte_order(&self) -> bool {
        self.runs().iter().any(|run| run.width > 1)
    }

    /// Returns the components of an element, in the order of their bytes. Empty for types that are not decoded.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        self.collect_runs(&mut || true, &mut runs);
        runs
    }

    /// Reverses the bytes of each component of each element. A partial element at the end stays unchanged.
    pub fn swap_elements(&self, elements: &mut [u8]) {
        ByteSwap::new(self).apply(elements);
    }

    /// Adds the runs of an element, or of each field of a struct for which `is_swapped` returns true. Other fields
    /// become single bytes.
    fn collect_runs(&self, is_swapped: &mut dyn FnMut() -> bool, runs: &mut Vec<Run>) {
        match self {
            DataType::Struct(structure) => {
                structure.fields.iter().for_each(|field| field.data_type.collect_runs(is_swapped, runs));
            }
            _ if !is_swapped() => push_run(runs, Run { width: 1, count: self.size().unwrap_or(0) }),
            DataType::Optional(inner) => {
                push_run(runs, Run { width: 1, count: 1 });
                // `is_swapped` has already answered for this field in the arm above. Another call would answer for the
                // next field.
                inner.collect_runs(&mut || true, runs);
            }
            plain => plain.run().into_iter().for_each(|run| push_run(runs, run)),
        }
    }

    /// Returns the components of an element that contains no other type. `None` for types that are not decoded.
    pub(super) fn run(&self) -> Option<Run> {
        let (width, count) = match self {
            DataType::Bool => (1, 1),
            DataType::Number(number_type) => (number_type.size(), 1),
            DataType::Complex(component) => (component.size(), 2),
            DataType::Time(_) => (8, 1),
            DataType::Raw(size) => (1, *size),
            DataType::FixedBytes(bytes) => (1, bytes.size),
            DataType::FixedUtf32(code_points) => (4, *code_points),
            DataType::Struct(_)
            | DataType::Optional(_)
            | DataType::String
            | DataType::Bytes { .. }
            | DataType::Other(_) => return None,
        };
        Some(Run { width, count })
    }
}

fn push_run(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.width == run.width => last.count += run.count,
        _ => runs.push(run),
    }
}

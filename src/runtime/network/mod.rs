//! Networks as graphs: shapes, operations, parameters, FLOPs, weights and builders.
//!
//! A [`Graph`] is a value, independent of devices and of how it is run; `compute` lowers it.

mod activation;
pub mod builders;
mod by_length;
mod channels;
mod dims;
mod error;
pub mod file;
mod graph;
mod looked_up;
mod op;
mod origin;
mod parameters;
mod probabilities;
mod shape;
mod tensor_op;
mod weights;
mod window;

pub use activation::Activation;
pub use by_length::{LengthError, NetworkByLength};
pub use channels::ResponseNorm;
pub use dims::{Dims, MAX_RANK};
pub use error::{GraphError, LayerFault, OpError};
pub use graph::{Graph, GraphBuilder, Node, NodeId};
pub use op::Op;
pub use origin::{ParameterOrigin, ShiftMask};
pub use parameters::{Parameter, ParameterRole};
pub use probabilities::{NetworkEnd, Probabilities};
pub use shape::{Shape, ShapeError, Sides};
pub use tensor_op::{Binary, Border, Reduction, TensorOp, Unary};
pub(crate) use weights::{
    ByteWeights, EncodedPlace, EncodedValues, FilterValues, IntegerScales, IntegerStep, Map,
    transposed, weight_scale,
};
pub use weights::{
    Filling, Foreign, Handful, Ignored, Mismatch, Naming, Pattern, Weights, WeightsError,
    WeightsNote, fillings,
};
pub use window::{Conv2d, Pool};

//! The types of operators' inputs and outputs, as ONNX defines them. A row combines all versions of
//! an operator, so no file is refused for a type that another version accepted.
//!
//! A row is `inputs -> outputs`. A word in lower case is a set of types: see [`TypeSet`]. A capital
//! is a type variable, with its set after a colon at its first use: inputs and outputs of one
//! variable have one type. `*` repeats an input. `?` is an output whose type an attribute sets, or
//! that is not followed.
//!
//! [`TypeSet`]: super::sets::TypeSet

/// The operators of a row, and the types of their inputs and outputs.
pub(super) const ROWS: &[(&str, &str)] = &[
    ("Add Sub Mul Div Mod", "T:number T -> T"),
    ("Pow", "T:number number -> T"),
    ("Sum Mean", "T:float* -> T"),
    ("Min Max Einsum", "T:number* -> T"),
    ("Equal", "T:any T -> bool"),
    (
        "Less LessOrEqual Greater GreaterOrEqual",
        "T:number T -> bool",
    ),
    ("And Or Xor", "bool bool -> bool"),
    ("Not", "bool -> bool"),
    (
        "BitwiseAnd BitwiseOr BitwiseXor BitShift",
        "T:integer T -> T",
    ),
    ("BitwiseNot", "T:integer -> T"),
    ("Abs Neg Sign Erf Relu Shrink", "T:number -> T"),
    (
        "Sqrt Reciprocal Exp Log Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh Acosh Atanh Floor Ceil Round",
        "T:float -> T",
    ),
    (
        "LeakyRelu Elu Celu Selu Sigmoid HardSigmoid HardSwish Tanh Softplus Softsign Mish Gelu Swish \
         ThresholdedRelu",
        "T:float -> T",
    ),
    ("PRelu", "T:number T -> T"),
    ("Clip", "T:number T T -> T"),
    ("IsNaN IsInf", "float -> bool"),
    ("Cast", "any -> ?"),
    ("CastLike", "any T:any -> T"),
    ("Where", "bool T:any T -> T"),
    ("Dropout", "T:float float bool -> T ?"),
    ("Conv ConvTranspose", "T:float T T -> T"),
    ("MaxPool", "T:number -> T int64"),
    (
        "AveragePool LpPool GlobalAveragePool GlobalMaxPool",
        "T:float -> T",
    ),
    ("Resize", "T:any float float32 int64 -> T"),
    ("Upsample", "T:any float32 -> T"),
    ("Col2Im", "T:any int64 int64 -> T"),
    ("GridSample", "T:any float -> T"),
    ("DFT", "T:float index int64 -> T"),
    ("Gemm", "T:number T T -> T"),
    ("MatMul", "T:number T -> T"),
    ("MatMulInteger ConvInteger", "A:byte B:byte A B -> int32"),
    ("QLinearMatMul", "A:any S:float A B:any S B S C:any -> C"),
    (
        "QLinearConv",
        "A:byte float32 A B:byte float32 B float32 C:byte int32 -> C",
    ),
    ("QuantizeLinear", "number number Z:any -> ?"),
    ("DequantizeLinear", "T:any S:float T -> ?"),
    ("DynamicQuantizeLinear", "float32 -> uint8 float32 uint8"),
    (
        "BatchNormalization",
        "T:float S:float S M:float M -> T M M M M",
    ),
    (
        "InstanceNormalization GroupNormalization",
        "T:float T T -> T",
    ),
    ("LayerNormalization", "T:float T T -> T ? ?"),
    (
        "RMSNormalization SimplifiedLayerNormalization",
        "float V:float -> V ?",
    ),
    (
        "LRN LpNormalization MeanVarianceNormalization Softmax LogSoftmax Hardmax",
        "T:float -> T",
    ),
    ("Attention", "A:float A B:float any A B int64 -> A A B A"),
    ("RotaryEmbedding", "T:float T T int64 -> T"),
    ("RNN GRU LSTM", "T:float T T T int32 T T T -> T T T"),
    (
        "SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss",
        "T:float index T -> T T",
    ),
    ("TopK", "T:number int64 -> T int64"),
    ("ArgMax ArgMin", "number -> int64"),
    ("CumSum CumProd", "T:number index -> T"),
    (
        "ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp",
        "T:number int64 -> T",
    ),
    ("ReduceMax ReduceMin", "T:any int64 -> T"),
    (
        "Identity Flatten Transpose DepthToSpace SpaceToDepth",
        "T:any -> T",
    ),
    (
        "Reshape Squeeze Unsqueeze Expand Tile Trilu",
        "T:any int64 -> T",
    ),
    ("Concat", "T:any* -> T"),
    ("Split", "T:any int64 -> T*"),
    ("Slice", "T:any I:index I I I -> T"),
    ("Pad", "T:any int64 T index -> T"),
    ("Gather GatherElements", "T:any index -> T"),
    ("GatherND", "T:any int64 -> T"),
    ("Scatter ScatterElements", "T:any index T -> T"),
    ("ScatterND", "T:any int64 T -> T"),
    ("Compress", "T:any bool -> T"),
    ("OneHot", "number number T:any -> T"),
    ("Range", "T:number T T -> T"),
    ("Shape Size NonZero", "any -> int64"),
    ("ConstantOfShape", "int64 -> ?"),
    ("EyeLike", "any -> ?"),
    ("If", "bool -> ?"),
    ("Constant", "-> ?"),
];

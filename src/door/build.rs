//! Compiles the published interface files into Rust, without a `protoc` of the system.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = ["proto/grpc_service.proto", "proto/health.proto"];
    println!("cargo::rerun-if-changed=proto");
    let described = protox::compile(files, ["proto"])?;
    tonic_prost_build::configure()
        .build_client(false)
        .build_transport(false)
        // Raw contents stay in the buffer that they arrived in.
        .bytes(".inference.ModelInferRequest.raw_input_contents")
        .bytes(".inference.ModelInferResponse.raw_output_contents")
        .bytes(".inference.InferTensorContents.bytes_contents")
        .compile_fds(described)?;
    Ok(())
}

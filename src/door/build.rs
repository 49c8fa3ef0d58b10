//! Compiles the published interface files into Rust, without a system `protoc`.

/// Calls whose messages are read by this crate within its bounds before they are decoded. The
/// generated services leave them out.
const READ_BY_THE_DOOR: [&str; 3] = ["ModelInfer", "ModelStreamInfer", "RepositoryModelLoad"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = ["proto/grpc_service.proto", "proto/health.proto"];
    println!("cargo::rerun-if-changed=proto");
    let mut described = protox::compile(files, ["proto"])?;
    for service in described.file.iter_mut().flat_map(|f| &mut f.service) {
        let methods = &mut service.method;
        methods.retain(|method| !READ_BY_THE_DOOR.contains(&method.name()));
    }
    tonic_prost_build::configure()
        .build_client(false)
        .build_transport(false)
        // Raw contents stay in their receive buffer.
        .bytes(".inference.ModelInferRequest.raw_input_contents")
        .bytes(".inference.ModelInferResponse.raw_output_contents")
        .bytes(".inference.InferTensorContents.bytes_contents")
        .compile_fds(described)?;
    Ok(())
}

//! Generates the table of `config.pbtxt` fields from the published interface file, without a system
//! `protoc`.

use std::error::Error;
use std::fmt::Write;
use std::{env, fs, path::Path};

use protox::prost_reflect::{Cardinality, DescriptorPool, EnumDescriptor, FieldDescriptor, Kind};

const FILE: &str = "proto/model_config.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={FILE}");
    let described = protox::compile(["model_config.proto"], ["proto"])?;
    let pool = DescriptorPool::from_file_descriptor_set(described)?;
    let mut table = String::new();
    writeln!(table, "static MESSAGES: &[MessageType] = &[")?;
    for message in pool.all_messages() {
        let fields: Vec<String> = message.fields().map(|f| field(&pool, &f)).collect();
        let (name, fields) = (message.full_name(), fields.join(""));
        writeln!(
            table,
            "MessageType {{ name: {name:?}, fields: &[{fields}] }},"
        )?;
    }
    writeln!(table, "];")?;
    let folder = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    fs::write(Path::new(&folder).join("schema.rs"), table)?;
    Ok(())
}

fn field(pool: &DescriptorPool, field: &FieldDescriptor) -> String {
    let kind = match field.kind() {
        Kind::Bool => "Flag".into(),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => whole(i32::MIN.into(), i32::MAX.into()),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => whole(i64::MIN.into(), i64::MAX.into()),
        Kind::Uint32 | Kind::Fixed32 => whole(0, u32::MAX.into()),
        Kind::Uint64 | Kind::Fixed64 => whole(0, u64::MAX.into()),
        Kind::Float | Kind::Double => "Number".into(),
        Kind::String | Kind::Bytes => "Text".into(),
        Kind::Enum(choices) => format!("Choice(&{:?})", choices_of(&choices)),
        Kind::Message(message) => {
            let at = pool.all_messages().position(|other| other == message);
            format!("Message({})", at.unwrap_or(usize::MAX))
        }
    };
    format!(
        "FieldType {{ name: {:?}, kind: FieldKind::{kind}, repeated: {}, choice: {:?} }},",
        field.name(),
        field.cardinality() == Cardinality::Repeated,
        field
            .containing_oneof()
            .map(|oneof| oneof.name().to_owned()),
    )
}

fn whole(least: i128, most: i128) -> String {
    format!("Whole {{ least: {least}, most: {most} }}")
}

fn choices_of(choices: &EnumDescriptor) -> Vec<(i32, String)> {
    let each = choices.values();
    each.map(|value| (value.number(), value.name().to_owned()))
        .collect()
}

//! Requests in JSON that contradict themselves: each is refused, and says where.

use serde_json::{Value, json};

use crate::client::{Answer, ask};
use crate::repository::chain;
use crate::service::TestServer;

fn post(server: &TestServer, path: &str, body: &str) -> Answer {
    let address = server.server.addresses().http.expect("an address");
    ask(address, "POST", path, body.as_bytes())
}

fn infer(server: &TestServer, input: &Value) -> Answer {
    let body = json!({"inputs": [input]}).to_string();
    post(server, "/v2/models/echo/infer", &body)
}

fn tensor(shape: &[usize], data: Value) -> Value {
    json!({"name": "x", "datatype": "INT32", "shape": shape, "data": data})
}

#[test]
fn data_is_one_list_or_one_for_each_dimension() {
    let server = TestServer::start();
    for (shape, data) in [
        (&[2, 3][..], json!([1, 2, 3, 4, 5, 6])),
        (&[2, 3], json!([[1, 2, 3], [4, 5, 6]])),
        (&[1, 2, 1], json!([[[1], [2]]])),
        (&[1, 2, 1], json!([1, 2])),
        (&[2, 0], json!([[], []])),
        (&[0, 3], json!([])),
        (&[1], json!([1])),
        (&[], json!(1)),
    ] {
        let answer = infer(&server, &tensor(shape, data.clone()));
        assert!(
            answer.status == 200 || !answer.error().contains("lists"),
            "{data}: {answer:?}"
        );
    }
    for (shape, data, words) in [
        (
            &[2, 3][..],
            json!([[1, 2], [3, 4], [5, 6]]),
            "lists of lengths [3, 2] for the shape [2, 3]",
        ),
        (
            &[2, 3],
            json!([[[1, 2, 3], [4, 5, 6]]]),
            "lists of lengths [1, 2, 3]",
        ),
        (
            &[2, 3],
            json!([[1, 2, 3, 4, 5, 6]]),
            "lists of lengths [1, 6]",
        ),
        (&[2, 3], json!([[1, 2], [3, 4, 5, 6]]), "uneven lists"),
        (&[2, 3], json!([1, 2, [3, 4, 5, 6]]), "uneven lists"),
        (&[2, 3], json!([[1, 2, 3], [4, 5, 6], []]), "uneven lists"),
        (&[2], json!([1, 2, []]), "uneven lists"),
        (&[1, 2], json!([[], [1, 2]]), "uneven lists"),
    ] {
        let refused = infer(&server, &tensor(shape, data.clone()));
        assert_eq!(refused.status, 400, "{data}: {refused:?}");
        let error = refused.error();
        assert!(
            error.starts_with("input `x`: ") && error.contains(words),
            "{data}: {error}"
        );
    }
}

#[test]
fn a_shape_that_comes_after_its_data_is_compared_with_it_too() {
    let server = TestServer::start();
    let body = r#"{"inputs": [{"data": [[1, 2], [3, 4], [5, 6]], "shape": [2, 3], "name": "x",
        "datatype": "INT32"}]}"#;
    let refused = post(&server, "/v2/models/echo/infer", body);
    assert!(refused.error().contains("lengths [3, 2]"), "{refused:?}");
}

#[test]
fn a_tensor_has_its_values_in_one_place() {
    let server = TestServer::start();
    let mut both = tensor(&[2], json!([1, 2]));
    both["parameters"] = json!({"shared_memory_region": "r", "shared_memory_byte_size": 8});
    let refused = infer(&server, &both);
    assert_eq!(refused.status, 400, "{refused:?}");
    let expected = "input `x`: expected `data` or the parameter `shared_memory_region`, found both";
    assert_eq!(refused.error(), expected);
}

#[test]
fn a_parameter_is_there_once() {
    let server = TestServer::start();
    let load = "/v2/repository/models/echo/load";
    let unload = "/v2/repository/models/echo/unload";
    let infer = "/v2/models/echo/infer";
    for (path, body, words) in [
        (
            infer,
            r#"{"inputs": [], "parameters": {"timeout": 1, "timeout": 2}}"#,
            "`timeout`",
        ),
        (
            infer,
            r#"{"inputs": [], "parameters": {}, "parameters": {}}"#,
            "`parameters`",
        ),
        (
            load,
            r#"{"parameters": {"config": "{}", "config": "{}"}}"#,
            "`config`",
        ),
        (
            load,
            r#"{"parameters": {}, "parameters": {}}"#,
            "`parameters`",
        ),
        (
            unload,
            r#"{"parameters": {}, "parameters": {}}"#,
            "`parameters`",
        ),
    ] {
        let refused = post(&server, path, body);
        assert_eq!(refused.status, 400, "{body}: {refused:?}");
        assert!(refused.error().contains(words), "{body}: {refused:?}");
    }
}

#[test]
fn a_list_is_no_object() {
    let server = TestServer::start();
    for (path, body) in [
        ("/v2/repository/index", "[]"),
        ("/v2/repository/index", "[true]"),
        ("/v2/repository/models/echo/load", "[]"),
        ("/v2/repository/models/echo/unload", r#"{"parameters": []}"#),
        (
            "/v2/systemsharedmemory/region/r/register",
            r#"["k", 0, 64]"#,
        ),
        ("/v2/models/echo/infer", "[]"),
    ] {
        let refused = post(&server, path, body);
        assert_eq!(refused.status, 400, "{path} {body}: {refused:?}");
    }
    assert_eq!(post(&server, "/v2/repository/index", "{}").status, 200);
}

#[test]
fn a_model_that_is_not_loaded_is_unloaded_already() {
    let served = chain().serve(false);
    for model in ["e", "e", "nobody"] {
        let path = format!("/v2/repository/models/{model}/unload");
        let answer = served.post(&path, &json!({}));
        assert_eq!(answer.status, 200, "{model}: {answer:?}");
    }
    assert!(served.infer("e", "in", 1).status >= 400);
    assert_eq!(served.infer("a", "x", 1).status, 200);
}

#[test]
fn a_value_of_a_wrong_type_is_told_with_its_tensor_and_field() {
    let server = TestServer::start();
    let infer = "/v2/models/echo/infer";
    let register = "/v2/systemsharedmemory/region/r/register";
    let tensor = |fields: &str| format!(r#"{{"inputs": [{{"name": "x", {fields}}}]}}"#);
    for (path, body, words) in [
        (
            infer,
            tensor(r#""datatype": "INT32", "shape": "2""#),
            "tensor `x`: `shape`: ",
        ),
        (
            infer,
            tensor(r#""datatype": 5, "shape": [2]"#),
            "tensor `x`: `datatype`: ",
        ),
        (
            infer,
            tensor(r#""datatype": "INT33""#),
            "tensor `x`: `datatype`: ",
        ),
        (
            infer,
            tensor(r#""parameters": []"#),
            "tensor `x`: `parameters`: ",
        ),
        (
            infer,
            r#"{"inputs": [{"shape": [1], "name": 1}]}"#.into(),
            "tensor 1 of `inputs`: `name`: ",
        ),
        (infer, r#"{"id": 7, "inputs": []}"#.into(), "`id`: "),
        (
            register,
            r#"{"key": "/k", "offset": "x", "byte_size": 8}"#.into(),
            "offset: ",
        ),
        (
            "/v2/repository/index",
            r#"{"ready": "yes"}"#.into(),
            "ready: ",
        ),
    ] {
        let refused = post(&server, path, &body);
        assert_eq!(refused.status, 400, "{body}: {refused:?}");
        let error = refused.error();
        assert!(error.starts_with("the request's JSON: "), "{body}: {error}");
        assert!(error.contains(words), "{body}: {error}");
    }
}

"""Answers of a server against the published OpenAPI file of the Open Inference Protocol.

    conformance.py SPECIFICATION HTTP_ADDRESS MODEL

SPECIFICATION is `open_inference_rest.yaml` of github.com/kserve/open-inference-protocol.
Each documented call is made, as it should be and in wrong ways. Status, headers and body of each answer have
to be among those that the file has for the call; errors are objects with `error` alone.
"""

import json
import sys
import urllib.error
import urllib.request

import yaml

checked = []


def main(path: str, address: str, model: str) -> None:
    with open(path) as file:
        specification = yaml.safe_load(file)
    server = Server(specification, address, model)
    for path, methods in specification["paths"].items():
        for method, operation in methods.items():
            if method != "parameters":
                server.check(path, method, operation)
    server.check_versionless(specification)
    print(f"{len(checked)} answers conform")


class Server:
    def __init__(self, specification: dict, address: str, model: str):
        self.schemas = specification["components"]["schemas"]
        self.base, self.model = f"http://{address}", model

    def check(self, path: str, method: str, operation: dict) -> None:
        """Makes a call well, and wrong in each way that it can be."""
        version = json.loads(self.send("GET", f"/v2/models/{self.model}")[2])["versions"][0]
        good = path.replace("${MODEL_NAME}", self.model).replace("${MODEL_VERSION}", version)
        self.answers(good, method, operation, 200)
        if good == path:
            return
        nobody = path.replace("${MODEL_NAME}", "nobody").replace("${MODEL_VERSION}", version)
        self.answers(nobody, method, operation, 404)
        other = path.replace("${MODEL_NAME}", self.model).replace("${MODEL_VERSION}", "999")
        self.answers(other, method, operation, 404)
        if method == "post":
            for body in [b"{", b"[]", b"{}", b'{"inputs": [{"name": "x"}]}']:
                self.answers(good, method, operation, 400, body)

    def check_versionless(self, specification: dict) -> None:
        """The version may be left out of every path, as the protocol's text says."""
        for path, methods in specification["paths"].items():
            if "${MODEL_VERSION}" not in path:
                continue
            short = path.replace("/versions/${MODEL_VERSION}", "").replace("${MODEL_NAME}", self.model)
            for method in set(methods) - {"parameters"}:
                self.answers(short, method, methods[method], 200)

    def answers(self, path, method, operation, expected, body=None) -> None:
        if method == "post" and body is None:
            body = json.dumps(self.request()).encode()
        status, headers, text = self.send(method.upper(), path, body)
        what = f"{method} {path}: {status}"
        assert status == expected, f"{what}, expected {expected}: {text[:300]}"
        if status != 200:
            self.check_error(what, headers, text)
        else:
            said = operation["responses"]["200"].get("content")
            if said:
                assert headers.get("content-type") == "application/json", f"{what}: {headers}"
                self.fits(what, said["application/json"]["schema"], json.loads(text))
        checked.append(what)

    def check_error(self, what, headers, text) -> None:
        assert headers.get("content-type") == "application/json", f"{what}: {headers}"
        error = json.loads(text)
        self.fits(what, {"$ref": "#/components/schemas/metadata_server_error_response"}, error)
        assert set(error) == {"error"} and error["error"], f"{what}: {error}"

    def request(self) -> dict:
        """A request of zeros, made from the model's metadata."""
        metadata = json.loads(self.send("GET", f"/v2/models/{self.model}")[2])
        inputs = []
        for tensor in metadata["inputs"]:
            shape = [max(size, 1) for size in tensor["shape"]]
            count = 1
            for size in shape:
                count *= size
            inputs.append({**tensor, "shape": shape, "data": [0] * count})
        return {"id": "seven", "inputs": inputs}

    def send(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, data=body, method=method)
        request.add_header("content-type", "application/json")
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return answer.status, headers, answer.read()

    def fits(self, what: str, schema: dict, value) -> None:
        """Checks a value by the kinds of schemas that the file has."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return self.fits(f"{what} {name}", self.schemas[name], value)
        if "anyOf" in schema:
            return self.fits_any(what, schema["anyOf"], value)
        kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
        kind = kinds.get(schema["type"], (int, float))
        assert isinstance(value, kind), f"{what}: expected {schema['type']}, found {value!r}"
        if schema["type"] == "object":
            missing = set(schema.get("required", [])) - set(value)
            assert not missing, f"{what}: {missing} missing in {value}"
            known = schema.get("properties", {})
            for name in set(known) & set(value):
                self.fits(f"{what}.{name}", known[name], value[name])
            more = set(value) - set(known) if known else set()
            assert not more, f"{what}: {more} are not in the file"
        for one in value if schema["type"] == "array" else []:
            self.fits(f"{what}[]", schema["items"], one)

    def fits_any(self, what: str, schemas: list, value) -> None:
        for schema in schemas:
            try:
                return self.fits(what, schema, value)
            except AssertionError:
                pass
        raise AssertionError(f"{what}: {value!r} is none of what is allowed")


if __name__ == "__main__":
    main(*sys.argv[1:])

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StatusError } from "@dray/api";
import { metadataForms, resourceForms } from "../encoding/representation.ts";
import { acceptClauses, checkTypes, negotiate, noForms } from "./accept.ts";

const asking = (accept?: string, url = "/api/v1/pods", agent = "test/1") => ({
  url,
  headers: { "user-agent": agent, ...(accept === undefined ? {} : { accept }) },
});

describe("negotiation of the response", () => {
  test("chooses the most preferred clause that is supported", () => {
    const wanted = "application/json;q=0.1, application/yaml";
    assert.equal(negotiate(asking(wanted), resourceForms)?.mediaType, "application/yaml");
    const table = "application/json;as=Table;v=v9;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io";
    assert.deepEqual(negotiate(asking(table), resourceForms)?.as, {
      kind: "Table",
      group: "meta.k8s.io",
      version: "v1",
    });
    assert.equal(negotiate(asking(), resourceForms)?.mediaType, "application/json");
  });

  test("rejects Tables in protobuf, and Tables of endpoints without them", () => {
    const table = "as=Table;v=v1;g=meta.k8s.io";
    assert.equal(negotiate(asking(`application/vnd.kubernetes.protobuf;${table}`), resourceForms), undefined);
    assert.equal(negotiate(asking(`application/json;${table}`), metadataForms), undefined);
  });

  test("supports the parameters stream, sv and pretty", () => {
    assert.equal(negotiate(asking("application/yaml;stream=watch"), resourceForms), undefined);
    assert.ok(negotiate(asking("application/json;sv=v1"), resourceForms));
    assert.equal(negotiate(asking("application/json;sv=v1"), noForms), undefined);
    assert.equal(negotiate(asking("application/json;pretty=1"), noForms)?.pretty, true);
    assert.equal(negotiate(asking("application/json;pretty=true"), noForms)?.pretty, false);
  });

  test("interactive clients get indented JSON", () => {
    assert.equal(negotiate(asking(undefined, "/x?pretty=true"), noForms)?.pretty, true);
    assert.equal(negotiate(asking(undefined, "/x", "curl/8.0"), noForms)?.pretty, true);
    assert.equal(negotiate(asking(undefined, "/x?pretty=0", "curl/8.0"), noForms)?.pretty, false);
  });

  test("clauses without a subtype are dropped, and a lone star is any type", () => {
    assert.deepEqual(
      acceptClauses("foo, *, a/b/c, text/html").map(({ type }) => type),
      ["text/html", "*/*"],
    );
  });
});

test("the router rejects unsupported types, and lists those of streams for streams", () => {
  checkTypes(asking("text/html, application/json;as=x"));
  checkTypes(asking("text/plain"), false, ["text/plain"]);
  assert.throws(
    () => checkTypes(asking("application/*"), true),
    (error) =>
      StatusError.is(error, "NotAcceptable") &&
      error.message.startsWith("406: Not Acceptable\n\nAvailable representations: application/json, ") &&
      error.message.endsWith("application/vnd.kubernetes.protobuf;stream=watch"),
  );
});

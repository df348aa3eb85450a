import assert from "node:assert/strict";
import { test } from "node:test";
import { requestInfo } from "./info.ts";

const secrets = "/api/v1/namespaces/n/secrets";
const selector = (text: string): string => `fieldSelector=${encodeURIComponent(text)}`;

test("only a list or a watch by name is a request for one object", () => {
  const one = selector("metadata.name=one");
  const about = (method: string, url: string): [verb: string, name: string] => {
    const { verb, name } = requestInfo(method, url);
    return [verb, name];
  };
  assert.deepEqual(about("GET", `${secrets}?${one}`), ["list", "one"]);
  assert.deepEqual(about("GET", `${secrets}?watch=1&${one}`), ["watch", "one"]);
  assert.deepEqual(about("DELETE", `${secrets}?${one}`), ["deletecollection", ""]);
  assert.deepEqual(about("GET", `/api/v1/watch/namespaces/n/secrets?${one}`), ["watch", ""]);
  assert.deepEqual(about("POST", `${secrets}?${one}`), ["create", ""]);
});

test("malformed options select no name", () => {
  const name = (query: string): string => requestInfo("GET", `${secrets}?${query}`).name;
  const one = selector("metadata.name=one");
  assert.equal(name(`limit=x&${one}`), "");
  assert.equal(name(`timeoutSeconds=x&${one}`), "");
  assert.equal(name(`labelSelector=%3D%3D&${one}`), "");
  assert.equal(name(selector("metadata.name=one,other")), "");
  assert.equal(name(selector("metadata.name!=one")), "");
  assert.equal(name(selector("metadata.name=a/b")), "");
  assert.equal(name(selector("metadata.name=two,metadata.name=one")), "one");
});

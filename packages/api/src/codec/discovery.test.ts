import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeProtobuf, encodeProtobuf } from "./protobuf/envelope.ts";

// Responses of kube-apiserver 1.36 to GET /apis/scheduling.k8s.io/v1 and /api in protobuf.
const resources = Buffer.from(
  "azhzAAoVCgJ2MRIPQVBJUmVzb3VyY2VMaXN0EqUBChRzY2hlZHVsaW5nLms4cy5pby92MRKMAQoPcHJpb3JpdHljbGFzc2VzEAAaDVByaW9y" +
    "aXR5Q2xhc3MiQwoGY3JlYXRlCgZkZWxldGUKEGRlbGV0ZWNvbGxlY3Rpb24KA2dldAoEbGlzdAoFcGF0Y2gKBnVwZGF0ZQoFd2F0Y2gqAnBj" +
    "Mg1wcmlvcml0eWNsYXNzQgBKAFIMMVF3anlhWmpqM1k9GgAiAA==",
  "base64",
);
const versions = Buffer.from(
  "azhzAAoPCgASC0FQSVZlcnNpb25zEiIKAnYxEhwKCTAuMC4wLjAvMBIPMTkyLjAuMi4yOjQyNDcxGgAiAA==",
  "base64",
);

test("lists of resources are written in protobuf as Go does: verbs are a message of their own", () => {
  const list = {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: "scheduling.k8s.io/v1",
    resources: [
      {
        name: "priorityclasses",
        singularName: "priorityclass",
        namespaced: false,
        kind: "PriorityClass",
        verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        shortNames: ["pc"],
        storageVersionHash: "1QwjyaZjj3Y=",
      },
    ],
  };
  assert.equal(Buffer.from(encodeProtobuf(list)).toString("base64"), resources.toString("base64"));
  assert.deepEqual(decodeProtobuf(resources).object, list);
});

test("discovery of the core group has no version of its own", () => {
  const found = {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "192.0.2.2:42471" }],
  };
  assert.equal(Buffer.from(encodeProtobuf(found)).toString("base64"), versions.toString("base64"));
});

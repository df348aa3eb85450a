import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf, type KubeObject } from "@dray/api";
import { ClusterTrustBundle } from "@dray/api/certificates/v1";
import { type ValidationContext, validateCreate, validateUpdate } from "@dray/api/validation";

const context = { features: featuresOf(), requestGroup: "certificates.k8s.io" } as ValidationContext;
const bundle = (name: string, signerName?: string): KubeObject =>
  ({
    apiVersion: "certificates.k8s.io/v1",
    kind: "ClusterTrustBundle",
    metadata: { name },
    spec: { ...(signerName === undefined ? {} : { signerName }), trustBundle: "PEM" },
  }) as never;

test("the name of a ClusterTrustBundle begins with its signer, if it has one", () => {
  const problems = (name: string, signer?: string): string =>
    validateCreate(ClusterTrustBundle, bundle(name, signer), context)
      .map(({ path, detail }) => `${path}: ${detail}`)
      .join();
  assert.equal(problems("own"), "");
  assert.equal(problems("example.com:signer:a1", "example.com/signer"), "");
  assert.equal(
    problems("a:b"),
    'metadata.name: ClusterTrustBundle without signer name must not have ":" in its name',
  );
  assert.equal(
    problems("other", "example.com/signer"),
    "metadata.name: ClusterTrustBundle for signerName example.com/signer must be named with prefix example.com:signer:",
  );
  assert.match(
    problems("example.com:signer:A", "example.com/signer"),
    /^metadata\.name: a lowercase RFC 1123/,
  );
});

test("the signer of a ClusterTrustBundle stays", () => {
  const [problem] = validateUpdate(
    ClusterTrustBundle,
    bundle("example.com:b:x", "example.com/b"),
    bundle("example.com:b:x", "example.com/a"),
    context,
  );
  assert.deepEqual([problem?.path, problem?.detail], ["spec.signerName", "field is immutable"]);
});

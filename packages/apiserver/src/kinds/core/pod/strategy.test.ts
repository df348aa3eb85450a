import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../../../testing/server.ts";

const pods = "/api/v1/namespaces/default/pods";
const fields = {
  resourceClaimStatuses: [{ name: "gpu", resourceClaimName: "p-gpu-x" }],
  extendedResourceClaimStatus: {
    resourceClaimName: "p-extended",
    requestMappings: [{ containerName: "c", resourceName: "example.com/gpu", requestName: "r" }],
  },
  nodeAllocatableResourceClaimStatuses: [
    { resourceClaimName: "p-gpu-x", containers: ["c"], mapping: [{ name: "cpu", quantity: "1" }] },
  ],
};

for (const [version, kept] of [
  ["1.37", true],
  ["1.36", false],
] as const)
  test(`${version}: a status without the fields of claims ${kept ? "leaves" : "takes away"} those of a pod`, async () => {
    const featureGates = new Map([["DRANodeAllocatableResources", true]]);
    const { call, server } = await testServer({
      kubernetesVersion: version,
      featureGates,
      disabledAdmissionPlugins: ["ServiceAccount"],
    });
    try {
      const spec = {
        containers: [
          {
            name: "c",
            image: "i",
            resources: { claims: [{ name: "gpu" }], limits: { "example.com/gpu": "1" } },
          },
        ],
        resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "t" }],
      };
      const body = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec };
      const created = await call("POST", pods, { body });
      assert.equal(created.status, 201, JSON.stringify(created.body));
      const { status: _, ...pod } = created.body;
      const write = async (status: object) => {
        const { metadata } = (await call("GET", `${pods}/p`)).body;
        const written = await call("PUT", `${pods}/p/status`, { body: { ...pod, metadata, status } });
        assert.equal(written.status, 200, JSON.stringify(written.body));
        return written.body.status;
      };
      // The node allocatable resources of claims had another form in 1.36.
      const { nodeAllocatableResourceClaimStatuses: _taken, ...older } = fields;
      await write({ phase: "Pending", ...(kept ? fields : older) });
      const after = await write({ phase: "Running" });
      for (const [name, value] of Object.entries(fields))
        assert.deepEqual(after[name], kept ? value : undefined, name);
      // An empty list clears the field.
      const cleared = await write({ phase: "Running", resourceClaimStatuses: [] });
      assert.deepEqual(cleared.resourceClaimStatuses ?? [], []);
    } finally {
      await server.close();
    }
  });

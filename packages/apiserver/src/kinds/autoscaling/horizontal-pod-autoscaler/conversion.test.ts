import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../../../testing/server.ts";

const old = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
const now = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "d" };
const share = (averageUtilization: number): object => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
});
const prefix = "autoscaling.alpha.kubernetes.io/";

test("the share of processor time is a field of v1; without any metric it is 80 %", async () => {
  const { server, call } = await testServer();
  const spec = { scaleTargetRef, maxReplicas: 3 };
  const first = await call("POST", old, { body: { metadata: { name: "a" }, spec } });
  assert.equal(first.status, 201);
  assert.equal(first.body.apiVersion, "autoscaling/v1");
  assert.deepEqual(first.body.spec, { ...spec, minReplicas: 1, targetCPUUtilizationPercentage: 80 });
  assert.deepEqual(first.body.status, { currentReplicas: 0, desiredReplicas: 0 });
  const seen = await call("GET", `${now}/a`);
  assert.deepEqual(seen.body.spec, { ...spec, minReplicas: 1, metrics: [share(80)] });
  await call("PATCH", `${old}/a`, { body: { spec: { targetCPUUtilizationPercentage: 50 } } });
  assert.deepEqual((await call("GET", `${now}/a`)).body.spec.metrics, [share(50)]);
  await server.close();
});

test("v1 keeps other fields of v2 in annotations, which v2 hides and a write by v1 preserves", async () => {
  const { server, call } = await testServer();
  const metrics = [
    share(60),
    {
      type: "Pods",
      pods: {
        metric: { name: "p", selector: { matchLabels: { a: "b<c" } } },
        target: { type: "AverageValue", averageValue: "1k" },
      },
    },
    {
      type: "Object",
      object: {
        describedObject: { kind: "Service", name: "s" },
        metric: { name: "o" },
        target: { type: "Value", value: "7" },
      },
    },
    {
      type: "External",
      external: { metric: { name: "e" }, target: { type: "AverageValue", averageValue: "3" } },
    },
    {
      type: "ContainerResource",
      containerResource: {
        name: "memory",
        container: "c",
        target: { type: "Utilization", averageUtilization: 70 },
      },
    },
    { type: "Resource", resource: { name: "memory", target: { type: "AverageValue", averageValue: "1Gi" } } },
  ];
  const behavior = { scaleDown: { policies: [{ type: "Pods", value: 1, periodSeconds: 60 }] } };
  const body = {
    metadata: { name: "a", annotations: { mine: "1" } },
    spec: { scaleTargetRef, maxReplicas: 3, metrics, behavior },
  };
  const made = await call("POST", now, { body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await call("PATCH", `${now}/a/status`, {
    body: {
      status: {
        conditions: [{ type: "AbleToScale", status: "True", reason: "R" }],
        currentMetrics: [
          {
            type: "Resource",
            resource: { name: "cpu", current: { averageUtilization: 40, averageValue: "1" } },
          },
        ],
      },
    },
  });
  const stored = (await call("GET", `${now}/a`)).body;
  assert.deepEqual(Object.keys(stored.metadata.annotations), ["mine"]);

  const shown = (await call("GET", `${old}/a`)).body;
  assert.equal(shown.spec.targetCPUUtilizationPercentage, 60);
  assert.equal(shown.status.currentCPUUtilizationPercentage, 40);
  const { annotations } = shown.metadata;
  assert.equal(
    annotations[`${prefix}metrics`],
    '[{"type":"Pods","pods":{"metricName":"p","targetAverageValue":"1k","selector":{"matchLabels":{"a":"b\\u003cc"}}}},' +
      '{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"o","targetValue":"7"}},' +
      '{"type":"External","external":{"metricName":"e","targetAverageValue":"3"}},' +
      '{"type":"ContainerResource","containerResource":{"name":"memory","targetAverageUtilization":70,"container":"c"}},' +
      '{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]',
  );
  assert.equal(
    annotations[`${prefix}behavior`],
    '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},' +
      '{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":null,' +
      '"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":60}],"Tolerance":null}}',
  );
  assert.equal(
    annotations[`${prefix}conditions`],
    '[{"type":"AbleToScale","status":"True","lastTransitionTime":null,"reason":"R"}]',
  );

  const written = await call("PUT", `${old}/a`, {
    body: { ...shown, spec: { ...shown.spec, maxReplicas: 5 } },
  });
  assert.equal(written.status, 200, JSON.stringify(written.body));
  const after = (await call("GET", `${now}/a`)).body;
  // The metric that v1 has a field for comes last then.
  assert.deepEqual(after.spec, {
    ...stored.spec,
    maxReplicas: 5,
    metrics: [...stored.spec.metrics.slice(1), stored.spec.metrics[0]],
  });
  assert.deepEqual(after.status, stored.status);
  assert.deepEqual(after.metadata.annotations, { mine: "1" });
  await server.close();
});

test("annotations that cannot be read are left out", async () => {
  const { server, call } = await testServer();
  for (const [name, text] of Object.entries({
    a: "{",
    b: "[null]",
    c: '{"x":1}',
    d: '[{"type":"Pods","pods":null}]',
    e: "7",
  })) {
    const annotations = {
      [`${prefix}metrics`]: text,
      [`${prefix}behavior`]: text,
      [`${prefix}conditions`]: text,
    };
    const spec = { scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 50 };
    const { status } = await call("POST", old, { body: { metadata: { name, annotations }, spec } });
    assert.ok(status < 500, `${name} ${status}`);
  }
  assert.deepEqual((await call("GET", `${now}/a`)).body.spec.metrics, [share(50)]);
  await server.close();
});

import { claim, gpuClass, type Manifest, node, slice } from "../plan/testing.ts";
import { cluster, finds, rule } from "./testing.ts";

rule("device-plugin-beside-dra", () => {
  const withPlugin = node("a", { allocatable: { "nvidia.com/gpu": "2", "example.com/gpu": "1" } });
  finds(cluster([withPlugin]), []);
  const extended = {
    ...gpuClass,
    spec: { ...(gpuClass["spec"] as object), extendedResourceName: "example.com/gpu" },
  };
  finds(cluster([withPlugin, extended]), [
    "device-plugin-beside-dra: Node a offers example.com/gpu by a device plugin, and the same devices by driver gpu.example.com",
  ]);
  const nvidia = { ...gpuClass, metadata: { name: "gpu.nvidia.com" } };
  finds(cluster([withPlugin, nvidia]), [
    "device-plugin-beside-dra: Node a offers nvidia.com/gpu by a device plugin, and the same devices by driver gpu.example.com",
  ]);
});

rule("class-without-devices", () => {
  const other = {
    ...gpuClass,
    metadata: { name: "other" },
    spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.org"' } }] },
  };
  finds(cluster([other]), ["class-without-devices: DeviceClass other has no devices"], {
    evidence: /drivers that publish devices: gpu\.example\.com \(4 devices\)/,
  });
});

rule("class-selector-failing", () => {
  const named = (expression: string): Manifest => ({
    ...gpuClass,
    metadata: { name: "big" },
    spec: { selectors: [{ cel: { expression } }] },
  });
  const mixed = slice("a", [
    { name: "gpu-0", attributes: { model: { string: "a100" } } },
    { name: "gpu-1", attributes: { size: { int: 1 } } },
  ]);
  const without = ["ResourceSlice b-gpus"];
  const expression = 'device.attributes["gpu.example.com"].model == "a100"';
  const guarded = `"model" in device.attributes["gpu.example.com"] && (${expression})`;
  const message =
    "class-selector-failing: DeviceClass big has a selector that fails at 1 device of 2 (gpu.example.com/a/gpu-1)";
  const path = "/spec/selectors/0/cel/expression";
  finds(cluster([named(expression), mixed], without), [message], {
    evidence: /device gpu.example.com\/a\/gpu-1: no such key: model.*\nattributes of the device: size/,
    fix: `kubectl patch deviceclass big --type=json -p '${JSON.stringify([
      { op: "test", path, value: expression },
      { op: "replace", path, value: guarded },
    ])}'`,
  });
  // As the command leaves it.
  finds(cluster([named(guarded), mixed], without), []);
  // One that fails at every device is one finding.
  const all = slice("a", [{ name: "gpu-0" }]);
  finds(cluster([named(expression), all], without), [
    message.replace("1 device of 2 (gpu.example.com/a/gpu-1)", "1 device of 1 (gpu.example.com/a/gpu-0)"),
  ]);
  // A selector before it keeps the device from it.
  const both = named(expression);
  const first = { cel: { expression: 'device.driver == "gpu.example.org"' } };
  const selectors = [first, ...(both["spec"] as { selectors: object[] }).selectors];
  finds(cluster([{ ...both, spec: { selectors } }, mixed], without), [
    "class-without-devices: DeviceClass big has no devices",
  ]);
});

rule("missing-class", () => {
  finds(
    cluster([claim("open", { deviceClassName: "gpus" })]),
    ["missing-class: ResourceClaim default/open names DeviceClass gpus, which does not exist"],
    { evidence: /did you mean gpu\?/ },
  );
});

rule("dropped-field", () => {
  const applied = (spec: object): object => ({
    annotations: {
      "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({
        apiVersion: "resource.k8s.io/v1",
        kind: "DeviceClass",
        metadata: { name: "gpu" },
        spec,
      }),
    },
  });
  const given = { ...(gpuClass["spec"] as object), extendedResourceName: "example.com/gpu" };
  finds(cluster([{ ...gpuClass, metadata: { name: "gpu", uid: "g", ...applied(given) } }]), [
    "dropped-field: DeviceClass gpu lacks spec.extendedResourceName, which was applied",
  ]);
  finds(
    cluster([{ ...gpuClass, metadata: { name: "gpu", uid: "g", ...applied(gpuClass["spec"] as object) } }]),
    [],
  );
  const managedFields = [
    {
      manager: "helm",
      operation: "Apply",
      apiVersion: "resource.k8s.io/v1",
      fieldsType: "FieldsV1",
      fieldsV1: {
        "f:spec": {
          "f:devices": {
            "f:requests": {
              'k:{"name":"gpu"}': {
                "f:exactly": { "f:count": {}, "f:selectors": {}, "f:tolerations": {} },
              },
            },
          },
        },
      },
    },
  ];
  const metadata = { name: "open", uid: "o", managedFields };
  finds(cluster([claim("open", { count: 1 }, { metadata })]), [
    "dropped-field: ResourceClaim default/open lacks spec.devices.requests[0].exactly.tolerations, which was applied",
  ]);
});

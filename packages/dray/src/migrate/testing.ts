/** Manifests of older shapes, made at random. */

export type Random = () => number;

/** Numbers from 0 to 1, the same for one seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Plain = Record<string, unknown>;

/** A list of valid objects as older releases had them. */
export function oldManifests(random: Random): object {
  const whole = (most: number): number => Math.floor(random() * most);
  const one = <T>(list: readonly T[]): T => list[whole(list.length)]!;
  const maybe = (field: string, value: () => unknown): Plain => (random() < 0.5 ? { [field]: value() } : {});
  const names = ["a", "b", "c"];
  const selectors = (): unknown[] => [
    { cel: { expression: 'device.driver == "gpu.example.com"' } },
    ...(random() < 0.3
      ? [{ cel: { expression: 'device.attributes["gpu.example.com/model"] == "a100"' } }]
      : []),
  ];
  const exact = (): Plain => ({
    deviceClassName: one(names),
    ...maybe("selectors", selectors),
    ...(random() < 0.5
      ? { allocationMode: "ExactCount", count: 1 + whole(3) }
      : maybe("allocationMode", () => "All")),
  });
  const structuredSpec = (version: string): Plain => ({
    devices: {
      requests: names.slice(0, 1 + whole(3)).map((name) => {
        if (version !== "v1alpha3" && random() < 0.3)
          return {
            name,
            firstAvailable: [
              { name: "big", ...exact() },
              { name: "small", deviceClassName: "a" },
            ],
          };
        return version === "v1beta2" ? { name, exactly: exact() } : { name, ...exact() };
      }),
      ...maybe("constraints", () => [{ matchAttribute: "gpu.example.com/numa" }]),
      ...maybe("config", () => [{ opaque: { driver: "gpu.example.com", parameters: { mode: "x" } } }]),
    },
    ...(version === "v1alpha3" ? maybe("controller", () => "gpu.example.com") : {}),
  });
  const classicSpec = (): Plain => ({
    resourceClassName: one(names),
    ...maybe("allocationMode", () => one(["Immediate", "WaitForFirstConsumer"])),
    ...maybe("parametersRef", () => ({ kind: "GpuClaimParameters", name: one(["p", "missing"]) })),
  });
  const podSpec = (): Plain => ({
    containers: names.slice(0, 1 + whole(3)).map((name) => ({
      name,
      image: "i",
      resources: {
        ...maybe("limits", () => ({
          cpu: "1",
          "nvidia.com/gpu": whole(4),
          ...maybe("nvidia.com/mig-1g.5gb", () => "2"),
        })),
        ...maybe("claims", () => [{ name: "claim" }]),
      },
    })),
    ...maybe("initContainers", () => [
      { name: "i", image: "i", resources: { limits: { "nvidia.com/gpu": `${1 + whole(2)}` } } },
    ]),
    resourceClaims: [
      random() < 0.5
        ? { name: "claim", source: { [one(["resourceClaimName", "resourceClaimTemplateName"])]: "claim-0" } }
        : { name: "claim", resourceClaimName: "claim-0" },
    ],
  });
  const makers: ((name: string) => Plain)[] = [
    (name) => {
      const version = one(["v1alpha3", "v1beta1", "v1beta2"]);
      return {
        apiVersion: `resource.k8s.io/${version}`,
        kind: "ResourceClaim",
        metadata: { name },
        spec: structuredSpec(version),
      };
    },
    (name) => {
      const version = one(["v1alpha3", "v1beta1", "v1beta2"]);
      const spec = { spec: structuredSpec(version), ...maybe("metadata", () => ({ labels: { a: "b" } })) };
      return {
        apiVersion: `resource.k8s.io/${version}`,
        kind: "ResourceClaimTemplate",
        metadata: { name },
        spec,
      };
    },
    (name) => ({
      apiVersion: "resource.k8s.io/v1alpha2",
      kind: "ResourceClaim",
      metadata: { name },
      spec: classicSpec(),
    }),
    (name) => ({
      apiVersion: "resource.k8s.io/v1alpha2",
      kind: "ResourceClaimTemplate",
      metadata: { name },
      spec: { spec: classicSpec() },
    }),
    (name) => ({
      apiVersion: "resource.k8s.io/v1alpha2",
      kind: "ResourceClass",
      metadata: { name },
      driverName: "gpu.example.com",
    }),
    (name) => ({
      apiVersion: "resource.k8s.io/v1alpha2",
      kind: "ResourceClaimParameters",
      metadata: { name },
      generatedFrom: { kind: "GpuClaimParameters", name: "p" },
      driverRequests: [
        {
          driverName: "gpu.example.com",
          ...maybe("vendorParameters", () => ({ a: 1 })),
          requests: Array.from({ length: 1 + whole(2) }, () => ({
            namedResources: {
              selector: one([
                'attributes.string["model"] == "x"',
                "attributes.bool.fast",
                '"x" in attributes.stringslice["l"]',
              ]),
            },
            ...maybe("vendorParameters", () => ({ b: "x" })),
          })),
        },
      ],
    }),
    (name) => ({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec: podSpec() }),
    (name) => ({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name },
      spec: { template: { spec: { ...podSpec(), restartPolicy: "Never" } } },
    }),
  ];
  // Some kinds are left out: a class is always something.
  const items = [
    { apiVersion: "resource.k8s.io/v1beta2", kind: "DeviceClass", metadata: { name: "always" }, spec: {} },
    ...Array.from({ length: 1 + whole(5) }, (_, i) => one(makers)(`claim-${i}`)),
  ];
  return { apiVersion: "v1", kind: "List", items };
}

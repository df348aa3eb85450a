/** Troubles of devices and claims. */
import {
  claim,
  claimSpec,
  type Draft,
  type Manifest,
  pod,
  slicesOf,
  subjectClaim,
  subjectRequest,
  withClaim,
} from "../draft.ts";

export type Trouble = (draft: Draft) => boolean;

const driverOf = (draft: Draft): string => `${subjectRequest(draft)?.deviceClassName ?? "gpu"}.example.com`;

const devicesOf = (draft: Draft): Manifest[] =>
  slicesOf(draft, driverOf(draft)).flatMap(({ spec }) => spec.devices ?? []);

function addSelector(draft: Draft, expression: string): boolean {
  const request = subjectRequest(draft);
  if (request === undefined) return false;
  request.selectors = [...(request.selectors ?? []), { cel: { expression } }];
  return true;
}

function addConstraint(draft: Draft, constraint: Manifest): boolean {
  const spec = subjectClaim(draft);
  const request = subjectRequest(draft);
  if (request === undefined || request.allocationMode === "All" || request.deviceClassName === "nic")
    return false;
  request.count = Math.max(2, request.count ?? 1);
  spec.devices.constraints = [...(spec.devices.constraints ?? []), constraint];
  return true;
}

const taint = (effect: string): Manifest => ({ key: "example.com/broken", value: "1", effect });

export const deviceTroubles: Readonly<Record<string, Trouble>> = {
  "template missing": (draft) => {
    const at = draft.objects.findIndex(
      ({ kind, metadata }) => kind === "ResourceClaimTemplate" && metadata.name === "t",
    );
    if (at >= 0) draft.objects.splice(at, 1);
    return at >= 0;
  },
  "claim missing": (draft) => {
    const at = draft.objects.findIndex(
      ({ kind, metadata }) => kind === "ResourceClaim" && metadata.name === "own",
    );
    if (at >= 0) draft.objects.splice(at, 1);
    return at >= 0;
  },
  "class missing": (draft) => {
    const request = subjectRequest(draft);
    if (request === undefined) return false;
    request.deviceClassName = "gqu";
    return true;
  },
  "no slices": (draft) => {
    const driver = driverOf(draft);
    const left = draft.objects.filter(({ kind, spec }) => kind !== "ResourceSlice" || spec.driver !== driver);
    draft.objects.splice(0, draft.objects.length, ...left);
    return subjectRequest(draft) !== undefined;
  },
  "pool incomplete": (draft) => {
    for (const { spec } of slicesOf(draft, driverOf(draft)))
      if (draft.random.chance(0.7)) spec.pool.resourceSliceCount++;
    return subjectRequest(draft) !== undefined;
  },
  "pool of another driver incomplete": ({ objects, nodes, random }) => {
    const [nodeName] = nodes;
    const devices = [{ name: "o0" }, { name: "o1" }];
    objects.push({
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceSlice",
      metadata: { name: "other" },
      spec: {
        driver: "other.example.com",
        nodeName,
        pool: { name: "o", generation: 1, resourceSliceCount: 2 },
        devices,
      },
    });
    return random.chance(1);
  },
  "selector matches nothing": (draft) =>
    addSelector(
      draft,
      draft.random.pick(["device.driver == 'none'", "!device.driver.endsWith('example.com')"]),
    ),
  "selector matches few": (draft) =>
    subjectRequest(draft)?.deviceClassName === "gpu" &&
    addSelector(
      draft,
      draft.random.pick([
        'device.attributes["gpu.example.com"].model == "h100"',
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0',
        'device.attributes["gpu.example.com"].fast',
      ]),
    ),
  "selector fails": (draft) => {
    const driver = driverOf(draft);
    if (draft.random.chance(0.5)) return addSelector(draft, `device.attributes["${driver}"].modle == "a100"`);
    const some = devicesOf(draft)[0];
    if (some === undefined) return false;
    some.attributes = { ...some.attributes, special: { bool: true } };
    return addSelector(draft, `device.attributes["${driver}"].special`);
  },
  "class selector fails": (draft) => {
    const name = subjectRequest(draft)?.deviceClassName;
    const found = draft.objects.find(
      ({ kind, metadata }) => kind === "DeviceClass" && metadata.name === name,
    );
    found?.spec.selectors.push({ cel: { expression: `device.attributes["${driverOf(draft)}"].speed > 5` } });
    return found !== undefined;
  },
  "too many devices": (draft) => {
    const request = subjectRequest(draft);
    if (request === undefined || request.allocationMode === "All") return false;
    request.count = draft.random.int(3, 6);
    return true;
  },
  "all devices": (draft) => {
    const request = subjectRequest(draft);
    if (request === undefined || request.deviceClassName === "part" || "name" in request) return false;
    delete request.count;
    request.allocationMode = "All";
    return true;
  },
  "constraint: equal attribute": (draft) =>
    addConstraint(draft, {
      matchAttribute: `gpu.example.com/${draft.random.pick(["model", "numa", "lacking"])}`,
    }),
  "constraint: distinct attribute": (draft) =>
    addConstraint(draft, { distinctAttribute: `gpu.example.com/${draft.random.pick(["model", "numa"])}` }),
  "too much capacity": (draft) => {
    const request = subjectRequest(draft);
    if (request?.deviceClassName !== "nic") return false;
    request.capacity = { requests: { bandwidth: draft.random.pick(["45", "55", "60", "90", "95", "150"]) } };
    return true;
  },
  "unknown capacity": (draft) => {
    const request = subjectRequest(draft);
    if (request === undefined) return false;
    request.capacity = { requests: { ...request.capacity?.requests, lanes: "1" } };
    return true;
  },
  "devices tainted": (draft) => {
    for (const device of devicesOf(draft))
      if (draft.random.chance(0.8)) device.taints = [taint(draft.random.pick(["NoSchedule", "NoExecute"]))];
    return subjectRequest(draft) !== undefined;
  },
  "devices with two taints": (draft) => {
    for (const device of devicesOf(draft))
      device.taints = [taint("NoSchedule"), { key: "example.com/hot", effect: "NoSchedule" }];
    return subjectRequest(draft) !== undefined;
  },
  "rule taints devices": (draft) => {
    const { objects, random, nodes } = draft;
    const one = random.chance(0.3) ? { pool: nodes[0] } : {};
    objects.push({
      apiVersion: "resource.k8s.io/v1",
      kind: "DeviceTaintRule",
      metadata: { name: "maintenance" },
      spec: {
        deviceSelector: { driver: driverOf(draft), ...one },
        taint: { key: "maintenance", effect: "NoSchedule" },
      },
    });
    return subjectRequest(draft) !== undefined;
  },
  "binding conditions": (draft) => {
    const driver = driverOf(draft);
    for (const device of devicesOf(draft)) {
      device.bindingConditions = ["attached"];
      device.bindingFailureConditions = ["broken"];
    }
    draft.facts.detached.add(driver);
    return driver !== "part.example.com" && subjectRequest(draft) !== undefined;
  },
  alternatives: (draft) => {
    const spec = subjectClaim(draft);
    const first = spec?.devices.requests[0];
    if (first?.exactly === undefined || first.exactly.adminAccess) return false;
    const wanted = { ...first.exactly };
    const other = { deviceClassName: "gpu", count: draft.random.int(2, 5) };
    spec!.devices.requests[0] = {
      name: "r",
      firstAvailable: [
        { name: "a", ...wanted },
        { name: "b", ...other },
      ],
    };
    return true;
  },
  "two requests": (draft) => {
    const spec = subjectClaim(draft);
    if (spec === undefined) return false;
    const deviceClassName = draft.random.pick(["gpu", "nic", "part"]);
    spec.devices.requests.push({ name: "r2", exactly: { deviceClassName } });
    return true;
  },
  "admin access": (draft) => {
    const request = subjectRequest(draft);
    if (request === undefined || "name" in request || request.capacity !== undefined) return false;
    request.adminAccess = true;
    const labels = { "resource.kubernetes.io/admin-access": "true" };
    draft.objects.push({ apiVersion: "v1", kind: "Namespace", metadata: { name: "default", labels } });
    return true;
  },
  "devices held": (draft) => {
    const deviceClassName = subjectRequest(draft)?.deviceClassName;
    if (deviceClassName === undefined) return false;
    const count = draft.random.int(1, 6);
    for (let i = 0; i < count; i++) {
      const wanted = {
        deviceClassName,
        ...(deviceClassName === "nic" && { capacity: { requests: { bandwidth: "20" } } }),
      };
      const holder = pod(`h${i}`, { priority: draft.random.below(3) * 10, preemptionPolicy: "Never" });
      if (draft.random.chance(0.2)) {
        holder.metadata.finalizers = ["example.com/keep"];
        draft.facts.deleted.add(`h${i}`);
      }
      draft.objects.push(
        claim(`h${i}`, claimSpec(wanted)),
        withClaim(holder, { resourceClaimName: `h${i}` }),
      );
    }
    return true;
  },
  "claim shared with a full node": (draft) => {
    const { objects, subject, random } = draft;
    if (subject.spec.resourceClaims !== undefined) return false;
    objects.push(claim("shared", claimSpec({})));
    objects.push(
      withClaim(pod("first", { containers: [{ name: "main", image: "main:v1" }] }), {
        resourceClaimName: "shared",
      }),
    );
    withClaim(subject, { resourceClaimName: "shared" });
    subject.spec.containers[0].resources.requests.cpu = random.pick(["4", "7"]);
    return true;
  },
  "claim being deleted": (draft) => {
    const own = draft.objects.find(
      ({ kind, metadata }) => kind === "ResourceClaim" && metadata.name === "own",
    );
    if (own === undefined) return false;
    own.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    own.metadata.finalizers = ["example.com/keep"];
    return true;
  },
};

/** Input of a rule. `server`: its release and served versions, which manifests lack. */
export type Source =
  | "Node"
  | "Pod"
  | "ResourceSlice"
  | "DeviceClass"
  | "ResourceClaim"
  | "ResourceClaimTemplate"
  | "DaemonSet"
  | "Event"
  | "Service"
  | "EndpointSlice"
  | "MutatingWebhookConfiguration"
  | "ValidatingWebhookConfiguration"
  | "CustomResourceDefinition"
  | "server";

export interface Rule {
  /** `error`: does not work or is unsafe; `warning`: may be intended, or fails later. */
  readonly severity: "error" | "warning";
  /** Description, as in docs/doctor.md. */
  readonly about: string;
  readonly consequence: string;
  /** The rule is skipped if one of these is missing. */
  readonly needs: readonly Source[];
}

/** All rules by their id, in the order of docs/doctor.md. */
export const rules = {
  "device-given-twice": {
    severity: "error",
    about:
      "A device that is not shared is allocated to several claims, or as a whole to one claim and in parts to others.",
    consequence: "Several pods use one device: they disturb each other, and see each other's memory.",
    needs: ["ResourceClaim"],
  },
  "capacity-overdrawn": {
    severity: "error",
    about: "The shares of a device consume more of a capacity than it has.",
    consequence: "Pods get less of the device than their claims say.",
    needs: ["ResourceClaim", "ResourceSlice"],
  },
  "counter-overdrawn": {
    severity: "error",
    about: "Allocated devices consume more of a shared counter than there is.",
    consequence: "Partitions overlap: one of them cannot be made, or several pods use the same hardware.",
    needs: ["ResourceClaim", "ResourceSlice"],
  },
  "device-not-published": {
    severity: "error",
    about: "A claim has a device that no ResourceSlice publishes any more.",
    consequence: "A pod that starts with the claim waits: its driver does not know the device.",
    needs: ["ResourceClaim", "ResourceSlice"],
  },
  "wrong-allocation": {
    severity: "error",
    about:
      "An allocation that kube-scheduler's rules would not give: class, selectors, count, constraints, taints, capacity, nodes.",
    consequence: "The pod runs with other devices than it requested, or on a node without its device.",
    needs: ["ResourceClaim", "ResourceSlice", "DeviceClass", "Node"],
  },
  "unhealthy-device-in-use": {
    severity: "error",
    about: "A pod has a device that its kubelet or its driver reports as unhealthy.",
    consequence: "The pod may fail, or compute wrong results.",
    needs: ["ResourceClaim", "ResourceSlice", "Pod"],
  },
  "tainted-device-in-use": {
    severity: "error",
    about:
      "A pod has a device with a taint of effect NoExecute; a warning where its claim tolerates the taint for ever.",
    consequence:
      "Its driver or an administrator wants the device free; the pod is evicted, or should have been.",
    needs: ["ResourceClaim", "ResourceSlice", "Pod"],
  },
  "pod-without-devices": {
    severity: "error",
    about:
      "A pod is bound to a node, and a claim of it is missing, not allocated, not reserved for it or for other nodes.",
    consequence: "The pod does not start; if it runs, its devices may be given to others.",
    needs: ["Pod", "ResourceClaim", "Node"],
  },
  "prepare-failing": {
    severity: "error",
    about: "A kubelet fails again and again to prepare the claims of a pod.",
    consequence: "The pod does not start, and keeps its devices.",
    needs: ["Event", "Pod"],
  },
  "unprepare-failing": {
    severity: "error",
    about: "A kubelet cannot unprepare the claims of a pod that ends.",
    consequence:
      "The pod stays, or its devices stay prepared on the node, and other pods may not start with them.",
    needs: ["Event", "Pod", "Node"],
  },
  "leaked-reservation": {
    severity: "error",
    about: "A claim is reserved for a pod that is gone, or that has ended.",
    consequence: "The devices of the claim stay taken, and the claim cannot be deleted.",
    needs: ["ResourceClaim", "Pod"],
  },
  "orphaned-claim": {
    severity: "error",
    about: "A claim that was made for a pod has outlived it.",
    consequence: "Its devices stay taken.",
    needs: ["ResourceClaim", "Pod"],
  },
  "unused-allocation": {
    severity: "warning",
    about: "An allocated claim is not reserved for any pod.",
    consequence: "No pod uses the devices, and other claims do not get them.",
    needs: ["ResourceClaim"],
  },
  "unprotected-allocation": {
    severity: "error",
    about: "An allocated claim lacks the finalizer `resource.kubernetes.io/delete-protection`.",
    consequence: "Deleting the claim frees its devices while pods use them.",
    needs: ["ResourceClaim"],
  },
  "finalizer-without-allocation": {
    severity: "warning",
    about: "A claim without devices has the finalizer of an allocation.",
    consequence: "A claim that is deleted stays until a controller takes the finalizer away.",
    needs: ["ResourceClaim"],
  },
  "claim-stuck-deleting": {
    severity: "error",
    about: "A claim was deleted more than a minute ago, no pod uses it, and it is still there.",
    consequence: "Its name and its devices stay taken.",
    needs: ["ResourceClaim", "Pod"],
  },
  "pod-stuck-terminating": {
    severity: "error",
    about: "The grace period of a deleted pod ended more than a minute ago.",
    consequence: "Its claims stay reserved, and a StatefulSet does not replace it.",
    needs: ["Pod", "Node"],
  },
  "stale-slice": {
    severity: "error",
    about: "A ResourceSlice is for a node that does not exist, or for a node of this name that is gone.",
    consequence: "Its devices are counted, and no pod can ever use them.",
    needs: ["ResourceSlice", "Node"],
  },
  "outdated-slice": {
    severity: "warning",
    about: "A ResourceSlice of an older generation stands beside newer ones of its pool.",
    consequence: "Its devices are not used; its driver has stopped in the middle of an update.",
    needs: ["ResourceSlice"],
  },
  "pool-incomplete": {
    severity: "error",
    about: "A pool has fewer slices of its newest generation than they announce.",
    consequence:
      "The scheduler uses no device of the pool; claims for all devices of a class fail on every node.",
    needs: ["ResourceSlice"],
  },
  "pool-invalid": {
    severity: "error",
    about: "The slices of a pool contradict each other.",
    consequence: "The scheduler uses no device of the pool.",
    needs: ["ResourceSlice", "Node"],
  },
  "pool-published-twice": {
    severity: "error",
    about: "Several publishers write the slices of one pool: drivers on several nodes, or several on one.",
    consequence:
      "Each takes the slices of the others for outdated: the scheduler uses no device of the pool, or ever others.",
    needs: ["ResourceSlice"],
  },
  "driver-not-registered": {
    severity: "error",
    about: "A node publishes devices of a driver, and its kubelet says that the driver is not registered.",
    consequence: "Pods with these devices are scheduled to the node, and do not start there.",
    needs: ["Event", "Pod", "ResourceSlice"],
  },
  "driver-not-running": {
    severity: "warning",
    about: "A node publishes devices of a driver and has no pod of it, while other nodes have one.",
    consequence: "Pods with these devices do not start on the node; those that run cannot be cleaned up.",
    needs: ["Pod", "ResourceSlice"],
  },
  "driver-not-ready": {
    severity: "error",
    about:
      "A pod of a driver (of its DaemonSet, controller or webhook) does not become ready or cannot be created; a warning where no node has the labels that it wants.",
    consequence: "Without it nodes publish no devices, and pods with its devices do not start or end.",
    needs: ["DaemonSet", "Pod"],
  },
  "driver-without-devices": {
    severity: "error",
    about:
      "The pods of a driver's DaemonSet are ready for more than a minute, and no ResourceSlice is theirs.",
    consequence: "No pod gets a device of the driver.",
    needs: ["DaemonSet", "Pod", "ResourceSlice"],
  },
  "device-plugin-beside-dra": {
    severity: "error",
    about: "A node offers the same hardware by a device plugin and by DRA.",
    consequence: "Plugin and driver do not know of each other: one device is given to two pods.",
    needs: ["Node", "DeviceClass", "ResourceSlice"],
  },
  "class-without-devices": {
    severity: "warning",
    about: "No published device is of a DeviceClass.",
    consequence: "Pods that ask for the class wait.",
    needs: ["DeviceClass", "ResourceSlice"],
  },
  "class-selector-failing": {
    severity: "error",
    about: "A selector of a DeviceClass does not compile, or fails at a published device.",
    consequence: "Claims for the class are not allocated on nodes with such a device.",
    needs: ["DeviceClass", "ResourceSlice"],
  },
  "missing-class": {
    severity: "error",
    about: "A claim without devices, or a template, names a DeviceClass that does not exist.",
    consequence: "Its pods are not scheduled on any node.",
    needs: ["DeviceClass", "ResourceClaim", "ResourceClaimTemplate"],
  },
  "dropped-field": {
    severity: "warning",
    about:
      "A field that was applied is not in the stored object: its feature gate is off, or the release lacks it.",
    consequence: "The object means something else than its manifest says.",
    needs: ["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"],
  },
  "endpoints-not-written": {
    severity: "error",
    about: "The Endpoints or EndpointSlices of a Service cannot be written.",
    consequence: "Clients of the Service are sent to pods that are gone, and not to new ones.",
    needs: ["Event", "Service"],
  },
  "endpoints-not-ready": {
    severity: "warning",
    about: "Pods of a Service run for more than a minute, and none of them is ready.",
    consequence: "Connections to the Service are refused.",
    needs: ["Service", "Pod"],
  },
  "service-port-not-served": {
    severity: "error",
    about: "A node cannot listen on a port of a Service.",
    consequence: "Connections to this port reach another program, or nothing.",
    needs: ["Event", "Service"],
  },
  "webhook-down": {
    severity: "error",
    about:
      "The Service of an admission or conversion webhook does not exist or has no ready endpoint, or calls of a webhook fail; a warning where its failurePolicy is Ignore.",
    consequence:
      "Requests that the webhook should see are rejected; with failurePolicy Ignore they are slow, and not checked.",
    needs: ["Service", "EndpointSlice", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
  },
  "unreadable-object": {
    severity: "error",
    about: "An object has values that cannot be read: the other rules are judged without it.",
    consequence: "Schedulers, controllers and kubelets may leave it out as well, or stop at it.",
    needs: [],
  },
  "versions-out-of-step": {
    severity: "warning",
    about:
      "A kubelet is newer than the API server or more than three minor versions older, or uses a version of resource.k8s.io that is not served.",
    consequence:
      "Kubernetes does not support the pair; without its API version a kubelet prepares no claims.",
    needs: ["Node", "ResourceSlice", "server"],
  },
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleId = keyof typeof rules;

export const ruleIds = Object.keys(rules) as readonly RuleId[];

/** The release of Kubernetes that `interop/build` builds: Dray is asked to be the same one. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const module = readFileSync(join(import.meta.dirname, "peers", "go.mod"), "utf8");

/** `1.37` of `k8s.io/kubernetes v1.37.1`. */
export const release = /^\tk8s\.io\/kubernetes v(\d+\.\d+)\./m.exec(module)![1]!;

/** For every program of Dray. */
export const releaseFlag = `--kubernetes-version=${release}`;

/** The gates that specs for DRA need and that are off by default; for every component of a cluster. */
const offByDefault = [
  "DRADerivedAttributes",
  "DRADeviceCompatibilityGroups",
  "DRAListTypeAttributes",
  "DRANodeAllocatableResources",
  "DRAOptionalNodeOperations",
  "DRAPartitionableDevicesType",
  "DRAResourcePoolStatus",
  "DRAWorkloadResourceClaims",
  "GenericWorkload",
  "TopologyAwareWorkloadScheduling",
] as const;

export const gatesFlag = `--feature-gates=${offByDefault.map((gate) => `${gate}=true`).join(",")}`;

/** The versions of APIs that specs for DRA use and that are not served by default. */
export const versionsFlag = `--runtime-config=${[
  "resource.k8s.io/v1alpha3",
  "resource.k8s.io/v1beta1",
  "resource.k8s.io/v1beta2",
  "scheduling.k8s.io/v1alpha3",
  "scheduling.k8s.io/v1beta1",
]
  .map((version) => `${version}=true`)
  .join(",")}`;

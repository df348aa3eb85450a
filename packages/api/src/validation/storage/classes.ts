/** The kinds of storage.k8s.io. */
import { keepEmpty } from "../../codec/empty.ts";
import type { TopologySelectorTerm } from "../../generated/core/v1.ts";
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from "../../generated/storage/v1.ts";
import type { KubeObject } from "../../objects/object.ts";
import { byteLength, dnsSubdomain, qualifiedName } from "../../values/names.ts";
import { Quantity } from "../../values/quantity.ts";
import type { ValidationContext } from "../context.ts";
import { checkImmutable, type FieldErrors, printedMap, sameValue, seenBefore } from "../field.ts";
import { internalForm } from "../internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../metadata.ts";
import { checkLabelSelector } from "../nodeselector.ts";
import { checkDriver } from "../pod/volume-sources.ts";
import { checkObject, checkObjectUpdate } from "../workloads/common.ts";
import { checkInlineVolume } from "./volume.ts";

const limits = { parameters: 512, bytes: 256 * 1024, nodeId: 192, error: 1024 } as const;

function checkCluster(errors: FieldErrors, object: KubeObject): void {
  checkMetadata(errors, "metadata", object.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

function checkClusterUpdate(errors: FieldErrors, object: KubeObject, old: KubeObject): void {
  checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

function checkProvisioner(errors: FieldErrors, path: string, name: string | undefined): void {
  if (!name) errors.required(path);
  else
    for (const problem of qualifiedName(name.toLowerCase()))
      errors.invalid(path, name.toLowerCase(), problem);
}

function checkParameters(
  errors: FieldErrors,
  parameters: Readonly<Record<string, string>> | undefined,
  mayBeEmpty: boolean,
): void {
  const entries = Object.entries(parameters ?? {});
  if (entries.length > limits.parameters) errors.tooLong("parameters", limits.parameters);
  let size = 0;
  for (const [key, value] of entries) {
    if (key === "") errors.invalid("parameters", key, "field can not be empty.");
    size += byteLength(key) + byteLength(value);
  }
  if (size > limits.bytes) errors.tooLong("parameters", limits.bytes);
  if (!mayBeEmpty && entries.length === 0)
    errors.required("parameters", "must contain at least one key/value pair");
}

function checkTopologies(errors: FieldErrors, terms: readonly TopologySelectorTerm[]): void {
  const before = new Map<string, number>();
  terms.forEach(({ matchLabelExpressions }, index) => {
    const path = `allowedTopologies[${index}].matchLabelExpressions`;
    const expressions = matchLabelExpressions ?? [];
    const repeatedKey = seenBefore();
    expressions.forEach(({ key = "", values: given }, place) => {
      const values = given ?? [];
      const at = `${path}[${place}]`;
      if (values.length === 0) errors.required(`${at}.values`);
      const repeated = seenBefore();
      values.forEach((value, position) => {
        if (repeated(value)) errors.duplicate(`${at}.values[${position}]`, value);
      });
      errors.check(qualifiedName, `${at}.key`, key);
      if (repeatedKey(key)) errors.duplicate(`${at}.key`, key);
    });
    const plain = new Map(expressions.map(({ key = "", values }) => [key, [...(values ?? [])].sort()]));
    const text = JSON.stringify([...plain].sort(([a], [b]) => (a < b ? -1 : 1)));
    const same = before.get(text) ?? 0;
    before.set(text, same + 1);
    // Upstream's list of those before starts with as many empty terms as there are terms.
    const times = same + (expressions.length === 0 ? terms.length : 0);
    for (let time = 0; time < times; time++) errors.duplicate(path, "");
  });
}

export const storageClass = {
  create(errors: FieldErrors, object: StorageClass): void {
    checkCluster(errors, object);
    checkProvisioner(errors, "provisioner", object.provisioner);
    checkParameters(errors, object.parameters, true);
    const policies = ["Delete", "Retain"];
    const policy = object.reclaimPolicy;
    if (policy && !policies.includes(policy)) errors.notSupported("reclaimPolicy", policy, policies);
    const modes = ["Immediate", "WaitForFirstConsumer"];
    const mode = object.volumeBindingMode;
    if (mode === undefined || mode === null) errors.required("volumeBindingMode");
    else if (!modes.includes(mode)) errors.notSupported("volumeBindingMode", mode, modes);
    checkTopologies(errors, object.allowedTopologies ?? []);
  },
  update(errors: FieldErrors, object: StorageClass, old: StorageClass): void {
    this.create(errors, object);
    checkClusterUpdate(errors, object, old);
    checkImmutable(errors, "parameters", object.parameters, old.parameters, () =>
      printedMap(object, "parameters"),
    );
    for (const name of ["provisioner", "reclaimPolicy", "volumeBindingMode"] as const) {
      checkImmutable(errors, name, object[name], old[name]);
    }
  },
};

const lifecycleModes = ["Persistent", "Ephemeral"];
const groupPolicies = ["File", "None", "ReadWriteOnceWithFSType"];

function checkDriverSpec(errors: FieldErrors, { spec }: CSIDriver): void {
  const policy = spec?.fsGroupPolicy;
  if (policy !== undefined && policy !== null && !groupPolicies.includes(policy)) {
    errors.notSupported("spec.fsGroupPolicy", policy, groupPolicies);
  }
  const requests = spec?.tokenRequests ?? [];
  const repeated = seenBefore();
  requests.forEach(({ audience = "", expirationSeconds: seconds }, index) => {
    const at = `spec.tokenRequests[${index}]`;
    if (repeated(audience)) {
      errors.duplicate(`${at}.audience`, audience);
      return;
    }
    if (seconds === undefined || seconds === null) return;
    const path = `${at}.expirationSeconds`;
    if (seconds < 600) errors.invalid(path, seconds, "may not specify a duration less than 10 minutes");
    if (seconds > 2 ** 32)
      errors.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds");
  });
  for (const mode of spec?.volumeLifecycleModes ?? []) {
    if (!lifecycleModes.includes(mode))
      errors.notSupported("spec.volumeLifecycleModes", mode, lifecycleModes);
  }
  const period = spec?.nodeAllocatableUpdatePeriodSeconds;
  if (period !== undefined && period !== null && period < 10) {
    const detail = "must be greater than or equal to 10 seconds";
    errors.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, detail);
  }
  const secrets = spec?.serviceAccountTokenInSecrets;
  if (secrets !== undefined && secrets !== null && requests.length === 0) {
    const detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
    errors.invalid("spec.serviceAccountTokenInSecrets", secrets, detail);
  }
}

export const csiDriver = {
  create(errors: FieldErrors, object: CSIDriver): void {
    checkCluster(errors, object);
    checkDriverSpec(errors, object);
  },
  update(errors: FieldErrors, object: CSIDriver, old: CSIDriver): void {
    checkClusterUpdate(errors, object, old);
    checkDriverSpec(errors, object);
    // Upstream misspells this one path.
    checkImmutable(errors, "spec.attachedRequired", object.spec?.attachRequired, old.spec?.attachRequired);
    const modes = object.spec?.volumeLifecycleModes;
    checkImmutable(errors, "spec.volumeLifecycleModes", modes, old.spec?.volumeLifecycleModes);
  },
};

function checkDrivers(errors: FieldErrors, { spec }: CSINode): void {
  const drivers = spec?.drivers ?? [];
  const repeated = seenBefore();
  drivers.forEach((driver, index) => {
    const at = `spec.drivers[${index}]`;
    checkDriver(errors, `${at}.name`, driver.name);
    const id = driver.nodeID ?? "";
    if (id === "") errors.required(`${at}.nodeID`);
    if (id.length > limits.nodeId) {
      errors.invalid(`${at}.nodeID`, id, `must be ${limits.nodeId} characters or less`);
    }
    errors.notNegative(`${at}.allocatable.count`, driver.allocatable?.count);
    if (repeated(driver.name)) errors.duplicate(`${at}.name`, driver.name);
    // Upstream's paths end with the driver here.
    const keys = driver.topologyKeys ?? [];
    const repeatedKey = seenBefore();
    keys.forEach((key) => {
      if (key === "") errors.required(at);
      if (repeatedKey(key)) errors.duplicate(at, key);
      errors.check(qualifiedName, at, key);
    });
  });
}

export const csiNode = {
  create(errors: FieldErrors, object: CSINode): void {
    checkCluster(errors, object);
    checkDrivers(errors, object);
  },
  update(errors: FieldErrors, object: CSINode, old: CSINode, { features }: ValidationContext): void {
    this.create(errors, object);
    for (const before of old.spec?.drivers ?? []) {
      for (const driver of object.spec?.drivers ?? []) {
        if (driver.name !== before.name) continue;
        const [{ allocatable: _now, ...now }, { allocatable: _then, ...then }] = [driver, before];
        const printed = (): unknown =>
          internalForm("storage/v1.CSINodeDriver", keepEmpty(now, driver), features.version);
        checkImmutable(errors, "spec.drivers", now, then, printed);
      }
    }
  },
};

export const csiStorageCapacity = {
  create(errors: FieldErrors, object: CSIStorageCapacity): void {
    checkObject(errors, object);
    checkLabelSelector(errors, "nodeTopology", object.nodeTopology);
    errors.check(dnsSubdomain, "storageClassName", object.storageClassName ?? "");
    if (object.capacity && Quantity.parse(object.capacity).sign < 0) {
      errors.invalid("capacity", object.capacity, "must be greater than or equal to 0");
    }
  },
  update(errors: FieldErrors, object: CSIStorageCapacity, old: CSIStorageCapacity): void {
    this.create(errors, object);
    checkObjectUpdate(errors, object, old);
    checkImmutable(errors, "nodeTopology", object.nodeTopology ?? null, old.nodeTopology, () =>
      internalForm("meta/v1.LabelSelector", object.nodeTopology, ""),
    );
    checkImmutable(errors, "storageClassName", object.storageClassName ?? "", old.storageClassName);
  },
};

function checkAttachment(errors: FieldErrors, { spec, status }: VolumeAttachment): void {
  if (!spec?.attacher) errors.required("spec.attacher");
  else checkDriver(errors, "spec.attacher", spec.attacher);
  const { inlineVolumeSpec, persistentVolumeName: name } = spec?.source ?? {};
  const named = name !== undefined && name !== null;
  const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (!inlineVolumeSpec && !named) errors.required("spec.source", one);
  else if (inlineVolumeSpec && named) errors.forbidden("spec.source", one);
  else if (name === "") {
    errors.required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName");
  } else if (inlineVolumeSpec) checkInlineVolume(errors, "spec.source.inlineVolumeSpec", inlineVolumeSpec);
  errors.check(dnsSubdomain, "spec.nodeName", spec?.nodeName ?? "");
  let size = 0;
  for (const [key, value] of Object.entries(status?.attachmentMetadata ?? {}))
    size += byteLength(key) + byteLength(value);
  if (size > limits.bytes) errors.tooLong("status.attachmentMetadata", limits.bytes);
  for (const field of ["attachError", "detachError"] as const) {
    const error = status?.[field];
    if (error?.message && byteLength(error.message) > limits.error)
      errors.tooLong(`status.${field}.message`, limits.bytes);
    if (error?.errorCode !== undefined && error.errorCode !== null && error.errorCode < 0) {
      errors.invalid(
        `status.${field}.errorCode`,
        error.errorCode,
        "must be between 0 and 2147483647, inclusive",
      );
    }
  }
  if (named) errors.check(dnsSubdomain, "spec.source.persistentVolumeName", name);
}

function checkAttachmentUpdate(
  errors: FieldErrors,
  object: VolumeAttachment,
  old: VolumeAttachment,
  { features }: ValidationContext,
): void {
  checkCluster(errors, object);
  checkAttachment(errors, object);
  const printed = (): unknown =>
    internalForm("storage/v1.VolumeAttachmentSpec", object.spec ?? {}, features.version);
  checkImmutable(errors, "spec", object.spec, old.spec, printed);
}

export const volumeAttachment = {
  create(errors: FieldErrors, object: VolumeAttachment): void {
    checkCluster(errors, object);
    checkAttachment(errors, object);
  },
  update: checkAttachmentUpdate,
  status: checkAttachmentUpdate,
};

export const volumeAttributesClass = {
  create(errors: FieldErrors, object: VolumeAttributesClass): void {
    checkCluster(errors, object);
    checkProvisioner(errors, "driverName", object.driverName);
    checkParameters(errors, object.parameters, false);
  },
  update(errors: FieldErrors, object: VolumeAttributesClass, old: VolumeAttributesClass): void {
    checkClusterUpdate(errors, object, old);
    if (object.driverName !== old.driverName)
      errors.forbidden("driverName", "updates to driverName are forbidden.");
    if (!sameValue(object.parameters, old.parameters))
      errors.forbidden("parameters", "updates to parameters are forbidden.");
    this.create(errors, object);
  },
};

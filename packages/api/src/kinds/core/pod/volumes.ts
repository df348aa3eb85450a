import type { FieldErrors } from "../../../checks/field.ts";
import { checkTemplateMetadata } from "../../../checks/metadata.ts";
import type { Volume } from "../../../generated/core/v1.ts";
import { quoted } from "../../../text/quoted.ts";
import { dnsLabel, dnsSubdomain } from "../../../values/names.ts";
import { Quantity } from "../../../values/quantity.ts";
import { checkClaimSpec } from "../persistent-volume-claim/validation.ts";
import { checkMode } from "./paths.ts";
import { checkDownwardFile, checkProjected } from "./projected.ts";
import * as sources from "./volume-sources.ts";

type Check = (errors: FieldErrors, source: never) => void;

function checkNamed(name: "secretName" | "name"): Check {
  return (errors, source: Volume["secret"] & Volume["configMap"] & object) => {
    if (!source[name]) errors.at(name).required();
    checkMode(errors.at("defaultMode"), source.defaultMode);
    sources.checkItems(errors, source.items);
  };
}

const checkEmpty: Check = (errors, source: Volume["emptyDir"] & object) => {
  if (source.sizeLimit && Quantity.parse(source.sizeLimit).sign < 0) {
    errors.at("sizeLimit").forbidden("SizeLimit field must be a valid resource quantity");
  }
};

const checkDownward: Check = (errors, source: Volume["downwardAPI"] & object) => {
  checkMode(errors.at("defaultMode"), source.defaultMode);
  // Upstream's path has no index here.
  for (const file of source.items ?? []) checkDownwardFile(errors, file);
};

const checkImage: Check = (errors, source: Volume["image"] & object) => {
  if (!source.reference) errors.at("reference").required();
  errors.at("pullPolicy").oneOf(source.pullPolicy, ["Always", "IfNotPresent", "Never"]);
};

const checkClaim: Check = (errors, source: Volume["persistentVolumeClaim"] & object) => {
  if (!source.claimName) errors.at("claimName").required();
};

const checkEphemeral: Check = (errors, source: Volume["ephemeral"] & object) => {
  const template = source.volumeClaimTemplate;
  const here = errors.at("volumeClaimTemplate");
  if (!template) {
    here.required();
    return;
  }
  checkTemplateMetadata(here.at("metadata"), template.metadata);
  checkClaimSpec(here.at("spec"), template.spec);
};

/** The types in the order in which the server looks at them: the first that a volume has is taken. */
const types: readonly (readonly [name: string, check: Check, shownAs?: string])[] = [
  ["emptyDir", checkEmpty],
  ["hostPath", sources.checkHostPath as Check],
  ["gitRepo", sources.checkGit as Check],
  ["gcePersistentDisk", sources.checkGoogleDisk as Check, "persistentDisk"],
  ["awsElasticBlockStore", sources.checkAmazonDisk as Check],
  ["secret", checkNamed("secretName")],
  ["nfs", sources.checkNfs as Check],
  ["iscsi", sources.checkIscsi as Check],
  ["glusterfs", sources.checkGluster as Check],
  ["flocker", sources.checkFlocker as Check],
  ["persistentVolumeClaim", checkClaim],
  ["rbd", sources.checkRbd as Check],
  ["cinder", sources.checkCinder as Check],
  ["cephfs", sources.checkCeph as Check],
  ["quobyte", sources.checkQuobyte as Check],
  ["downwardAPI", checkDownward],
  ["fc", sources.checkFibre as Check],
  ["flexVolume", sources.checkFlex as Check],
  ["configMap", checkNamed("name")],
  ["azureFile", sources.checkAzureFile as Check],
  ["vsphereVolume", sources.simpleSources.vsphereVolume as Check],
  ["photonPersistentDisk", sources.simpleSources.photonPersistentDisk as Check],
  ["portworxVolume", sources.simpleSources.portworxVolume as Check],
  ["azureDisk", sources.checkAzureDisk as Check],
  ["storageos", sources.checkStorageOs as Check],
  ["projected", checkProjected as Check],
  ["scaleIO", sources.checkScaleIo as Check],
  ["csi", sources.checkCsi as Check],
  ["ephemeral", checkEphemeral],
  ["image", checkImage],
];

/** How two of the types are named where they come second. */
const secondNames: Readonly<Record<string, string>> = { cephfs: "cephFS", downwardAPI: "downwarAPI" };

function checkSource(errors: FieldErrors, volume: Volume, podName: string): void {
  let count = 0;
  for (const [name, check, shownAs = name] of types) {
    const source = volume[name as keyof Volume];
    if (source === undefined || source === null) continue;
    count++;
    if (count > 1) errors.at(secondNames[name] ?? name).forbidden("may not specify more than 1 volume type");
    else check(errors.at(shownAs), source as never);
  }
  if (volume.iscsi) sources.checkIscsiName(errors, volume.name ?? "", volume.iscsi);
  if (volume.ephemeral && count === 1 && podName && volume.name) {
    const claim = `${podName}-${volume.name}`;
    for (const problem of dnsSubdomain(claim)) {
      errors.at("name").invalid(volume.name, `PVC name ${quoted(claim)}: ${problem}`);
    }
  }
  if (count === 0) errors.required("must specify a volume type");
}

/** Volumes of a pod: each named once, each of one type. Returns the valid ones by name. */
export function checkVolumes(
  errors: FieldErrors,
  volumes: readonly Volume[] | undefined,
  podName: string,
): ReadonlyMap<string, Volume> {
  const sound = new Map<string, Volume>();
  const ephemeral = new Set(
    (volumes ?? []).filter((volume) => volume.ephemeral && podName).map(({ name }) => `${podName}-${name}`),
  );
  (volumes ?? []).forEach((volume, index) => {
    const here = errors.index(index);
    const own = here.detached();
    checkSource(own, volume, podName);
    own.at("name").checkRequired(dnsLabel, volume.name);
    if (sound.has(volume.name)) own.at("name").duplicate(volume.name);
    if (own.list.length === 0) sound.set(volume.name, volume);
    errors.addAll(own.list);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && ephemeral.has(claim)) {
      const detail = "must not reference a PVC that gets created for an ephemeral volume";
      here.at("persistentVolumeClaim.claimName").invalid(claim, detail);
    }
  });
  return sound;
}

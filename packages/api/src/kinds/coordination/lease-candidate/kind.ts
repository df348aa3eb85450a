import type { FieldErrors } from "../../../checks/field.ts";
import { checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import { LeaseCandidate } from "../../../generated/coordination/v1beta1.ts";
import { isConfigMapKey, qualifiedName } from "../../../values/names.ts";
import {
  compareSemanticVersions,
  parseSemanticVersion,
  type SemanticVersion,
} from "../../../values/semver.ts";
import { defineKind } from "../../define.ts";

const oldest = "OldestEmulationVersion";
const noVersion: SemanticVersion = { major: 0n, minor: 0n, patch: 0n, prerelease: [], build: [] };

function checkSpec(errors: FieldErrors, { spec }: LeaseCandidate): void {
  const { leaseName, binaryVersion, emulationVersion, strategy } = spec ?? {};
  if (!leaseName) errors.at("spec.leaseName").required();
  const emulated = readVersion(errors.at("spec.emulationVersion"), emulationVersion);
  if (!binaryVersion) errors.at("spec.binaryVersion").required();
  const binary = readVersion(errors.at("spec.binaryVersion"), binaryVersion);
  if (binaryVersion && emulationVersion && compareSemanticVersions(binary, emulated) < 0)
    errors
      .at("spec.binaryVersion")
      .invalid(binaryVersion, "must be greater than or equal to `emulationVersion`");
  if (!strategy) errors.at("spec.strategy").required();
  // Upstream names the field twice.
  else if (strategy.includes("/")) errors.at("spec.strategy.strategy").check(qualifiedName, strategy);
  else if (strategy !== oldest) errors.at("spec.strategy.strategy").notSupported(strategy, [oldest]);
  else if (compareSemanticVersions(emulated, noVersion) === 0)
    errors.at("spec.emulationVersion").required(`must be specified when \`strategy\` is '${oldest}'`);
}

function readVersion(errors: FieldErrors, text: string | undefined): SemanticVersion {
  if (!text) return noVersion;
  const version = parseSemanticVersion(text);
  if (typeof version !== "string") return version;
  errors.invalid(text, "must be a valid semantic version");
  return noVersion;
}

/** Upstream: pkg/apis/coordination/validation/validation.go; the names of finalizers are not checked. */
const leaseCandidateValidation = {
  create(errors: FieldErrors, object: LeaseCandidate): void {
    checkMetadata(errors.at("metadata"), object.metadata, isConfigMapKey, true);
    checkSpec(errors, object);
  },
  update(errors: FieldErrors, object: LeaseCandidate, old: LeaseCandidate): void {
    checkMetadataUpdate(errors.at("metadata"), object.metadata, old.metadata);
    checkSpec(errors, object);
  },
};

export const leaseCandidate = defineKind(LeaseCandidate, {
  validation: leaseCandidateValidation,
});

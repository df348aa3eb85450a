import { type Features, fieldErrorText } from "@dray/api";
import { FieldErrors } from "@dray/api/validation";
import { parseYAML, YAMLError } from "@dray/api/yaml";
import { readExtenders } from "./extenders.ts";
import { asFields, Fields } from "./fields.ts";
import { checkPercentage, readProfiles } from "./profiles.ts";
import { apiVersion, kind, type LeaderElectionConfiguration, type SchedulerConfiguration } from "./types.ts";

/** An invalid configuration: each problem with its path, the value and what would be accepted. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** Reads the text of a configuration file, YAML or JSON. Throws ConfigurationError with all problems. */
export function parseSchedulerConfiguration(text: string, features: Features): SchedulerConfiguration {
  let document: unknown;
  try {
    const { value, duplicates } = parseYAML(text);
    if (duplicates.length > 0) throw new ConfigurationError(duplicates);
    document = value;
  } catch (error) {
    if (error instanceof YAMLError) throw new ConfigurationError([error.message]);
    throw error;
  }
  return readSchedulerConfiguration(document, features);
}

/**
 * Reads a KubeSchedulerConfiguration (v1), the tree of its YAML or JSON. Throws ConfigurationError with all
 * problems.
 * Upstream: apis/config/v1/defaults.go, apis/config/validation/validation.go.
 */
export function readSchedulerConfiguration(document: unknown, features: Features): SchedulerConfiguration {
  const errors = new FieldErrors({ release: features.version });
  const fields = asFields(document, errors);
  if (fields === undefined)
    throw new ConfigurationError([`must be an object of kind ${kind}, ${apiVersion}`]);
  checkKind(fields);
  const profiles = readProfiles(fields, features);
  const percentageOfNodesToScore = fields.integer("percentageOfNodesToScore") ?? 0;
  checkPercentage(errors.at("percentageOfNodesToScore"), percentageOfNodesToScore);
  const parallelism = fields.integer("parallelism") ?? 16;
  if (parallelism <= 0)
    errors.at("parallelism").invalid(parallelism, "should be an integer value greater than zero");
  const initial = fields.integer("podInitialBackoffSeconds") ?? 1;
  const max = fields.integer("podMaxBackoffSeconds") ?? 10;
  if (initial <= 0) errors.at("podInitialBackoffSeconds").invalid(initial, "must be greater than 0");
  if (max < initial)
    errors
      .at("podMaxBackoffSeconds")
      .invalid(max, "must be greater than or equal to PodInitialBackoffSeconds");
  const extenders = readExtenders(fields);
  const leaderElection = readLeaderElection(fields.object("leaderElection") ?? new Fields({}, errors));
  const connection = fields.object("clientConnection");
  const kubeconfig = connection && readConnection(connection);
  for (const name of ["enableProfiling", "enableContentionProfiling", "delayCacheUntilActive"])
    fields.boolean(name);
  fields.end();
  if (errors.list.length > 0) throw new ConfigurationError(errors.list.map(fieldErrorText));
  return {
    profiles,
    percentageOfNodesToScore,
    podInitialBackoff: initial * 1000,
    podMaxBackoff: max * 1000,
    extenders,
    leaderElection,
    ...(kubeconfig && { kubeconfig }),
  };
}

function checkKind(fields: Fields): void {
  for (const [name, wanted] of [
    ["apiVersion", apiVersion],
    ["kind", kind],
  ] as const) {
    if (fields.string(name) === undefined) fields.errors.at(name).required(`must be ${wanted}`);
    else fields.choice(name, [wanted]);
  }
}

/** Accepted as of kube-scheduler; of them only the file of the connection has an effect here. */
function readConnection(fields: Fields): string | undefined {
  for (const name of ["acceptContentTypes", "contentType"]) fields.string(name);
  fields.number("qps");
  fields.integer("burst");
  const kubeconfig = fields.string("kubeconfig");
  fields.end();
  return kubeconfig;
}

function readLeaderElection(fields: Fields): LeaderElectionConfiguration {
  const leaseDuration = fields.duration("leaseDuration") ?? 15_000;
  const renewDeadline = fields.duration("renewDeadline") ?? 10_000;
  const retryPeriod = fields.duration("retryPeriod") ?? 2_000;
  const leaderElect = fields.boolean("leaderElect") ?? true;
  fields.choice("resourceLock", ["leases"]);
  const resourceName = fields.string("resourceName") ?? "kube-scheduler";
  const resourceNamespace = fields.string("resourceNamespace") ?? "kube-system";
  const { errors } = fields;
  for (const [name, value] of Object.entries({ leaseDuration, renewDeadline, retryPeriod }))
    if (leaderElect && value <= 0) errors.at(name).invalid(value, "must be greater than zero");
  if (leaderElect && leaseDuration < renewDeadline)
    fields.errors
      .at("leaseDuration")
      .invalid(`${renewDeadline / 1000}s`, "LeaseDuration must be greater than RenewDeadline");
  if (leaderElect && renewDeadline < retryPeriod)
    fields.errors
      .at("renewDeadline")
      .invalid(`${retryPeriod / 1000}s`, "RenewDeadline must be greater than RetryPeriod");
  if (leaderElect && resourceName === "") errors.at("resourceName").required("resourceName is required");
  if (leaderElect && resourceNamespace === "")
    errors.at("resourceNamespace").required("resourceNamespace is required");
  fields.end();
  return { leaderElect, leaseDuration, renewDeadline, retryPeriod, resourceName, resourceNamespace };
}

/** The configuration without a file. */
export function defaultSchedulerConfiguration(features: Features): SchedulerConfiguration {
  return readSchedulerConfiguration({ apiVersion, kind }, features);
}

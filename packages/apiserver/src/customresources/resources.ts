import { apiVersionOf, type KubernetesVersion } from "@dray/api";
import type { JSONSchemaProps } from "@dray/api/apiextensions/v1";
import type { JSONObject } from "@dray/api/openapi";
import {
  type Definition,
  isTrue,
  type Version,
} from "../kinds/apiextensions/custom-resource-definition/types.ts";
import type { ResourceFacts, SubresourceFacts } from "../kinds/facts.ts";
import { compareVersions, type ServedResource, type StoredRow } from "../kinds/resources.ts";
import { printerOf } from "./columns.ts";
import { type ConversionParts, ConversionWebhook } from "./conversion-webhook.ts";
import { CustomModel } from "./model.ts";
import { namesOf, scalePaths } from "./scale-paths.ts";

/** In the order of discovery. */
const verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/** Verbs while the definition is terminating: nothing new is created. */
const terminatingVerbs = ["delete", "deletecollection", "get", "list", "watch"];
const subresourceVerbs = ["get", "patch", "update"];

/** The name under which the objects of a definition are stored: no built-in kind has a dot in its name. */
export const storedName = ({ spec }: Definition): string => `${spec.names.plural}.${spec.group}`;

/** The version in which objects are stored. */
export const storageVersion = ({ spec }: Definition): Version | undefined =>
  spec.versions?.find((version) => version.storage);

/** Returns the served resources of a definition: one for each version. */
export function resourcesOf(
  definition: Definition,
  ended: AbortSignal,
  conversion: ConversionParts,
): ServedResource[] {
  const { spec } = definition;
  const versions = spec.versions ?? [];
  const storage = storageVersion(definition);
  if (storage === undefined) return [];
  const { strategy, webhook } = spec.conversion ?? {};
  const shared = {
    storage,
    schemas: new Map(versions.map(({ name, schema }) => [name, schema?.openAPIV3Schema])),
    ended,
    release: conversion.release,
    webhook: strategy === "Webhook" && webhook ? new ConversionWebhook(webhook, conversion) : undefined,
  };
  return versions
    .filter((version) => version.served)
    .map((version) => resourceOf(definition, version, shared));
}

/** Properties that the versions of a definition share. */
interface Shared {
  readonly storage: Version;
  readonly schemas: ReadonlyMap<string, JSONSchemaProps | undefined>;
  readonly ended: AbortSignal;
  readonly release: KubernetesVersion;
  readonly webhook: ConversionWebhook | undefined;
}

function resourceOf(
  definition: Definition,
  version: Version,
  { storage, schemas, ended, release, webhook }: Shared,
): ServedResource {
  const { spec } = definition;
  const names = definition.status?.acceptedNames ?? spec.names;
  const { group } = spec;
  const schema = version.schema?.openAPIV3Schema;
  const scale = version.subresources?.scale;
  const paths = scale === undefined ? undefined : scalePaths(scale);
  const hasStatus = version.subresources?.status !== undefined;
  const kind = { group, version: version.name, kind: names.kind, namespaced: spec.scope === "Namespaced" };
  const model = new CustomModel(
    {
      ...kind,
      resource: names.plural,
      terminating: isTrue(definition, "Terminating"),
      schema,
      preserves: spec.preserveUnknownFields === true,
      hasStatus,
      scale: paths,
      printer: printerOf(version.additionalPrinterColumns),
      webhook,
      release,
      storedAs: apiVersionOf({ group, version: storage.name }),
      openAPI: {
        name: `${group.split(".").reverse().join(".")}.${version.name}.${kind.kind}`,
        listKind: names.listKind ?? `${kind.kind}List`,
        schema: published(definition, schema),
        selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.replace(/^\./, "")),
      },
    },
    schemas,
  );
  const row = { ...kind, type: `${apiVersionOf(kind)}.${kind.kind}`, resource: names.plural, model };
  // With a webhook, objects keep the version of the request until they are written.
  const held = webhook === undefined ? storage : version;
  const stored: StoredRow = { ...row, version: held.name, resource: storedName(definition) };
  const warning = deprecation(definition, version);
  return {
    ...row,
    stored,
    storageVersion: storage.name,
    singular: names.singular ?? kind.kind.toLowerCase(),
    listKind: names.listKind ?? `${kind.kind}List`,
    ...(names.shortNames === undefined ? {} : { shortNames: names.shortNames }),
    ...(names.categories === undefined ? {} : { categories: names.categories }),
    verbs: isTrue(definition, "Terminating") ? terminatingVerbs : verbs,
    subresources: subresourcesOf(kind.kind, hasStatus, scale !== undefined),
    facts: { ...factsOf(version, hasStatus, scale !== undefined), ...(storage.served ? {} : unhashed) },
    ...(paths === undefined ? {} : { scalePaths: paths }),
    ...(warning === undefined ? {} : { deprecation: warning }),
    ended,
  };
}

/** Schemas that are not structural (KEP-1111) are not published: clients see an object with any fields. */
function published(definition: Definition, schema: JSONSchemaProps | undefined): JSONObject | undefined {
  return isTrue(definition, "NonStructuralSchema") ? undefined : (schema as JSONObject | undefined);
}

function subresourcesOf(kind: string, status: boolean, scale: boolean): Map<string, SubresourceFacts> {
  const subresources = new Map<string, SubresourceFacts>();
  if (status) subresources.set("status", { kind, verbs: subresourceVerbs });
  if (scale) {
    subresources.set("scale", {
      group: "autoscaling",
      version: "v1",
      kind: "Scale",
      verbs: subresourceVerbs,
    });
  }
  return subresources;
}

/** Upstream: apiextensions-apiserver, pkg/apiserver/customresource_discovery_controller.go, sync */
const unhashed = { noStorageHash: true } as const;

function factsOf(version: Version, status: boolean, scale: boolean): ResourceFacts {
  return {
    ...(status ? { status: "reset" as const } : {}),
    ...(scale ? { scale: true as const } : {}),
    generation: true,
    needsVersion: true,
    schemaless: true,
    fields: (version.selectableFields ?? []).map(({ jsonPath }) => namesOf(jsonPath).join(".")),
    fieldError: "core",
  };
}

function deprecation({ spec }: Definition, version: Version): string | undefined {
  if (!version.deprecated) return undefined;
  if (version.deprecationWarning !== undefined) return version.deprecationWarning;
  const better = (spec.versions ?? [])
    .filter(
      ({ name, served, deprecated }) => served && !deprecated && compareVersions(name, version.name) > 0,
    )
    .map(({ name }) => name)
    .sort((a, b) => compareVersions(b, a))[0];
  const text = `${spec.group}/${version.name} ${spec.names.kind} is deprecated`;
  return better === undefined ? text : `${text}; use ${spec.group}/${better} ${spec.names.kind}`;
}

import { apiVersionOf } from "@dray/api";
import { kindOf } from "@dray/api/codec";
import { appliedObject, PatchValueError, patchOperations, type Value } from "@dray/cel";
import { fieldsIn } from "../../../json/values.ts";
import type { ModelledKind } from "../../../kinds/model.ts";
import { modelOf } from "../../../kinds/models.ts";
import {
  atomicPaths,
  type TypeSchema,
  typedMerge,
  typedProblem,
  UnkeyedElementError,
} from "../../../patch/index.ts";
import type { ObjectReader } from "../../../read/objects.ts";
import { internalError } from "../../../webhook/errors.ts";
import type { AdmissionRequest } from "../../admission.ts";
import { applyOperations, OperationError, type Tree } from "../../json-patch.ts";
import { replaceObject, UndecodableError } from "../../mutated-object.ts";
import { objectsIn, type VersionedResource } from "../../versions.ts";
import { Activation, type ActivationInput, OutOfBudget, validationBudget } from "../activation.ts";
import type { CompiledMutation } from "./compiled.ts";

/** A mutation cannot be applied; the failure policy decides. */
export class MutationError extends Error {
  override readonly name = "MutationError";
}

/**
 * Applies a mutation of a policy to the object of a request, with defaults for new fields. Returns whether
 * anything has changed. Throws MutationError, and 500 if the result of a JSON patch cannot be decoded.
 * Upstream: pkg/admission/plugin/policy/mutating/dispatcher.go, dispatchOne
 */
export function mutate(
  mutation: CompiledMutation,
  input: Omit<ActivationInput, "objects">,
  reader: ObjectReader,
): boolean {
  const { request, matched: version } = input;
  const objects = objectsIn(request, version);
  // Policies that mutate are not called for deletions, which have no object.
  const live = fieldsIn(objects.object!);
  const value = evaluate(mutation, { ...input, objects });
  if (mutation.patchType === "ApplyConfiguration") return apply(value, live, input, reader);
  const tree = patched(value, live);
  if (tree === undefined) return false;
  const { apiVersion, kind } = live;
  // As in upstream, kind and version need not be in the patched object.
  return replacePatched(request, { apiVersion, kind, ...tree }, version, reader);
}

function evaluate(mutation: CompiledMutation, input: ActivationInput): Value {
  if (!mutation.program.ok) throw new MutationError(mutation.program.error);
  try {
    const { value, error } = new Activation(input, validationBudget).evaluate(mutation);
    if (error !== undefined) throw new MutationError(error);
    return value;
  } catch (error) {
    throw error instanceof OutOfBudget ? new MutationError(error.message) : error;
  }
}

/** Upstream: pkg/admission/plugin/policy/mutating/patch/smd.go */
function apply(
  value: Value,
  live: Tree,
  { request, matched: version }: Pick<ActivationInput, "request" | "matched">,
  reader: ObjectReader,
): boolean {
  const kind = request.kind === undefined ? version.served : version.kind;
  const applied = { ...objectOf(value), apiVersion: apiVersionOf(kind), kind: kind.kind };
  const tree = merged(schemaOf(kind), live, applied);
  try {
    return replaceObject(request, { tree, version, validation: "Ignore" }, reader);
  } catch (error) {
    if (!(error instanceof UndecodableError)) throw error;
    throw new MutationError(`unable to convert unstructured object to ${kindText(kind)}: ${error.message}`);
  }
}

/** `/v1, Kind=ConfigMap` */
const kindText = ({ group, version, kind }: ModelledKind): string => `${group}/${version}, Kind=${kind}`;

function objectOf(value: Value): Tree {
  try {
    return appliedObject(value);
  } catch (error) {
    throw error instanceof PatchValueError ? new MutationError(error.message) : error;
  }
}

const wrong = (text: string): MutationError => new MutationError(`error applying patch: ${text}`);
const untyped = (why: string): MutationError =>
  wrong(`failed to convert patch object to typed object: ${why}`);

/** Throws MutationError for options of connections: they have no schema. */
function schemaOf(kind: ModelledKind): TypeSchema {
  if (kind.model === undefined && kindOf(kind.group, kind.version, kind.kind) === undefined)
    throw untyped(`no corresponding type for ${kindText(kind)}`);
  return modelOf(kind).objectType.schema;
}

function merged(schema: TypeSchema, live: Tree, applied: Tree): Tree {
  const problem = typedProblem(schema, applied);
  if (problem !== undefined) throw untyped(problem);
  const atomic = [...atomicPaths(schema, applied)];
  if (atomic.length > 0) {
    const what = "may not mutate atomic arrays, maps or structs";
    throw wrong(`invalid ApplyConfiguration: ${what}: ${atomic.join(", ")}`);
  }
  try {
    return typedMerge(schema, live, applied) as Tree;
  } catch (error) {
    if (!(error instanceof UnkeyedElementError)) throw error;
    throw wrong(`failed to convert original object to typed object: ${error.message}`);
  }
}

/**
 * Applies a JSON patch to the object. Returns undefined if a `test` fails: the patch is skipped, without an
 * error.
 * Upstream: pkg/admission/plugin/policy/mutating/patch/json_patch.go
 */
function patched(value: Value, live: Tree): Tree | undefined {
  try {
    return applyOperations(live, patchOperations(value));
  } catch (error) {
    if (error instanceof PatchValueError) throw new MutationError(error.message);
    if (!(error instanceof OperationError)) throw error;
    if (error.isFailedTest) return undefined;
    throw new MutationError(`JSON Patch: ${error.message}`);
  }
}

function replacePatched(
  request: AdmissionRequest,
  tree: Tree,
  version: VersionedResource,
  reader: ObjectReader,
): boolean {
  // Upstream decodes custom resources without a schema here, and prunes them later.
  const validation = version.served.facts.schemaless ? "Ignore" : "Strict";
  try {
    return replaceObject(request, { tree, version, validation }, reader);
  } catch (error) {
    throw error instanceof UndecodableError ? internalError(error.message) : error;
  }
}

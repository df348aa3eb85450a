import {
  apiVersionOf,
  dnsSubdomain,
  type FieldError,
  type KubeObject,
  type KubernetesVersion,
} from "@dray/api";
import {
  checkCommonUpdate,
  checkMetadata,
  checkMetadataUpdate,
  FieldErrors,
  type ValidationContext,
} from "@dray/api/validation";
import { copyOf, fieldsIn } from "../json/values.ts";
import type { UpdateFindings } from "../kinds/model.ts";
import type { ScalePaths } from "../kinds/resources.ts";
import { atOnce, type Step } from "../request/pieces.ts";
import { Correlation } from "../structural-schemas/correlation.ts";
import { checkEmbedded } from "../structural-schemas/embedded.ts";
import { checkListTypes } from "../structural-schemas/list-types.ts";
import { type CheckOptions, RuleSet } from "../structural-schemas/rules/evaluate.ts";
import { type Plain, propertyOf, type Schema } from "../structural-schemas/schema.ts";
import { checkValue } from "../structural-schemas/validate.ts";
import { checkScaled } from "./scale-paths.ts";

/** A version of a custom resource, as far as its validation needs it. */
interface ValidatedVersion {
  readonly group: string;
  readonly version: string;
  readonly namespaced: boolean;
  readonly schema: Schema | undefined;
  readonly scale: ScalePaths | undefined;
  /** The release whose error texts are used where releases differ. */
  readonly release: KubernetesVersion;
}

/** Validates the custom resources of one version. */
export class CustomValidation {
  readonly #version: ValidatedVersion;
  #rules: RuleSet | undefined;

  constructor(version: ValidatedVersion) {
    this.#version = version;
  }

  /** Returns the errors of a new object. */
  create(object: KubeObject, { step = atOnce }: ValidationContext): readonly FieldError[] {
    const { schema, namespaced } = this.#version;
    const errors = new FieldErrors(this.#version);
    const shown = step(() => this.#own(object));
    checkMetadata(errors.at("metadata"), object.metadata, dnsSubdomain, namespaced);
    inStep(errors, step, (own) => checkValue(own, schema, shown));
    this.#checkScale(errors, shown, true);
    inStep(errors, step, (own) => checkEmbedded(own, schema, shown));
    inStep(errors, step, (own) => checkListTypes(own, schema, shown));
    this.#checkRules(errors, shown, { step });
    return errors.list;
  }

  /** Returns the errors of an object that replaces `old`; violations of unchanged parts are tolerated. */
  update(
    object: KubeObject,
    old: KubeObject,
    subresource: string,
    { step = atOnce }: ValidationContext,
  ): UpdateFindings {
    const { schema, namespaced } = this.#version;
    const errors = new FieldErrors(this.#version);
    const [shown, before] = step(() => [this.#own(object), this.#own(old)] as const);
    const correlation = step(() => new Correlation(shown, before, schema));
    checkCommonUpdate(errors, object.metadata, old.metadata, namespaced);
    checkMetadataUpdate(errors.at("metadata"), object.metadata, old.metadata);
    const isStatus = subresource === "status";
    if (!isStatus) {
      inStep(errors, step, (own) => checkValue(own, schema, shown, correlation));
      inStep(errors, step, (own) => checkEmbedded(own, schema, shown));
    } else if (Object.hasOwn(shown, "status")) {
      const { status } = shown;
      inStep(errors.at("status"), step, (own) =>
        checkValue(own, propertyOf(schema, "status"), status, correlation.key("status")),
      );
    }
    this.#checkScale(errors, shown, !isStatus);
    inStep(errors, step, (own) => this.#checkLists(own, shown, before));
    const tolerated: string[] = [];
    this.#checkRules(errors, shown, { old: before, correlation, warnings: tolerated, step });
    return { errors: errors.list, tolerated };
  }

  /** Returns the object in this version. */
  #own(object: KubeObject): Plain {
    const own = copyOf(fieldsIn(object));
    own["apiVersion"] = apiVersionOf(this.#version);
    return own;
  }

  /** List violations of the old object are tolerated. */
  #checkLists(errors: FieldErrors, object: Plain, old: Plain): void {
    const { schema } = this.#version;
    const before = errors.detached();
    checkListTypes(before, schema, old);
    if (before.list.length === 0) checkListTypes(errors, schema, object);
  }

  #checkScale(errors: FieldErrors, object: Plain, withSpec: boolean): void {
    const { scale } = this.#version;
    if (scale !== undefined) checkScaled(errors, scale, object, withSpec);
  }

  #checkRules(errors: FieldErrors, value: Plain, options: CheckOptions & { readonly step: Step }): void {
    // Compiled with the first object.
    const rules = options.step(() => {
      this.#rules ??= new RuleSet(this.#version.schema, true);
      return this.#rules;
    });
    if (rules.empty) return;
    if (errors.list.some(({ type }) => blocking.has(type))) {
      errors.at("<nil>").invalid(null, unchecked);
      return;
    }
    rules.check(errors, value, options);
  }
}

/** Adds the errors of a check that is a step. */
function inStep(errors: FieldErrors, step: Step, check: (own: FieldErrors) => void): void {
  const found = step(() => {
    const own = errors.detached();
    check(own);
    return own.list;
  });
  errors.addAll(found);
}

/** Errors after which the rules would only fail for the same reason. */
const blocking = new Set<FieldError["type"]>([
  "NotSupported",
  "Required",
  "TooLong",
  "TooMany",
  "TypeInvalid",
]);
const unchecked =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

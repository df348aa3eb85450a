import {
  type FieldSelection,
  type KubeObject,
  type LabelSelection,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
  StatusError,
} from "@dray/api";
import { convert } from "../kinds/conversion.ts";
import { checkSelectable, fieldText } from "../kinds/field-selectors.ts";
import type { ServedResource } from "../kinds/resources.ts";

/** The selected objects of a collection. */
export interface Selection {
  /** There is neither a label selector nor a field selector. */
  readonly all: boolean;
  /** The single name in the field selector. */
  readonly name: string | undefined;
  /**
   * A webhook converts the objects, and the selector has fields of the converted ones: `matches` takes
   * converted ones.
   */
  readonly converts: boolean;
  /** Takes an object in its stored version. */
  matches(object: KubeObject): boolean;
}

/** Parses both selectors. Throws 400. */
export function selectionOf(
  served: ServedResource,
  options: { readonly labelSelector: string; readonly fieldSelector: string },
  name = "",
): Selection {
  let labels: LabelSelection;
  let fields: FieldSelection;
  try {
    labels = parseLabelSelector(options.labelSelector);
    fields = parseFieldSelector(options.fieldSelector);
  } catch (error) {
    if (error instanceof SelectorError) throw StatusError.of("BadRequest", error.message);
    throw error;
  }
  checkSelectable(served, fields);
  const ofMetadata = fields.requirements.every(({ field }) => field.startsWith("metadata."));
  return {
    all: labels.empty && fields.empty && name === "",
    name: fields.exact("metadata.name"),
    converts: served.model?.conversion !== undefined && !ofMetadata,
    matches(object) {
      if (name !== "" && object.metadata.name !== name) return false;
      if (!labels.empty && !labels.matches(object.metadata.labels)) return false;
      if (fields.empty) return true;
      const shown = ofMetadata ? object : convert(object, served.stored, served);
      return fields.matches((field) => fieldText(served, shown, field));
    },
  };
}

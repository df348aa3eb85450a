import { ResourcePoolStatusRequest } from "../../../generated/resource/v1alpha3.ts";
import { defineKind } from "../../define.ts";
import { checkPoolRequest, checkPoolRequestStatus, checkPoolRequestUpdate } from "./validation.ts";

function defaultPoolRequest({ spec }: ResourcePoolStatusRequest): void {
  if (spec) spec.limit ??= 100;
}

export const resourcePoolStatusRequest = defineKind(ResourcePoolStatusRequest, {
  defaults: defaultPoolRequest,
  validation: {
    create: checkPoolRequest,
    update: checkPoolRequestUpdate,
    status: checkPoolRequestStatus,
  },
});

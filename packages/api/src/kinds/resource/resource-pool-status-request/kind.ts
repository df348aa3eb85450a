import { ResourcePoolStatusRequest } from "../../../generated/resource/v1alpha3.ts";
import { defineKind } from "../../define.ts";
import { checkPoolRequest, checkPoolRequestStatus, checkPoolRequestUpdate } from "./validation.ts";

export const resourcePoolStatusRequest = defineKind(ResourcePoolStatusRequest, {
  validation: {
    create: checkPoolRequest,
    update: checkPoolRequestUpdate,
    status: checkPoolRequestStatus,
  },
});

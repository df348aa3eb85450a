import { APIService } from "../../../generated/apiregistration/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultAPIService } from "./defaults.ts";
import { apiServiceValidation } from "./validation.ts";

export const apiService = defineKind(APIService, {
  defaults: defaultAPIService,
  validation: apiServiceValidation,
});

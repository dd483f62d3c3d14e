// Checks a description against the schema of its version of OpenAPI, and that every reference in it leads somewhere.
//   node validate.mjs FILE
import { Validator } from "@seriousme/openapi-schema-validator";

const validator = new Validator();
const result = await validator.validate(process.argv[2]);
if (!result.valid) {
  console.error(result.errors);
  process.exit(1);
}
if (validator.version !== "3.1") {
  console.error("the version is " + validator.version);
  process.exit(1);
}
validator.resolveRefs();

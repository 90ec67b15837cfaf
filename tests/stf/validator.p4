// The validator of hop fields: right and wrong MACs, one or two, unusable requests.

#include "../../p4/validator/validator.p4"

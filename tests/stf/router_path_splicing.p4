// The Path Splicing router of p4/router: four slices, each with other paths.

#include "../../p4/router/path_splicing.p4"

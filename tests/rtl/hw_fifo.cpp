// config: WIDTH=8 DEPTH=2
// config: WIDTH=33 DEPTH=32
// config: WIDTH=72 DEPTH=64
#include "stream.h"

int main(int argc, char** argv) {
    start(argc, argv);
    return check_stream(DEPTH, DEPTH <= 32 ? 1 : 3);
}

// config: WIDTH=8
// config: WIDTH=70
#include "stream.h"

int main(int argc, char** argv) {
    start(argc, argv);
    // Empty, a word passes in one cycle.
    return check_stream(2, 1);
}

// Section 6.2: messages have the file and line that `#line` gives.
// Section 6.3: without the core library its names are unknown.
#line 1
header data_t {
    bit<8> x;
}

parser Reads(packet_in packet, out data_t d) { //~^^^ E0200
    state start {
        transition accept;
    }
}

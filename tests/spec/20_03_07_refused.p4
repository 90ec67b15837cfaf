// Section 20.3.7: the message is a string.

#include <core.p4>
#include <v1model.p4>

@deprecated(5)                  //~ E0308
extern Checker {
    Checker();
}

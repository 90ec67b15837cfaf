

// Copyright.
//   Indented.


/*
 * A block comment.
   */
struct s_t { // behind a brace
        // own line
    bit<8>  a;  // one
    bit<16> bb;      // two
                     // goes on
    bit<8> /* inside */ c;

    /** doc
     *  of d
     */
    bit<8> d; /* behind */


    bit<8> e;
    // last
}
error { One, // first
  Two /* second */
  // end
}
control c() {

    // first in the block

    apply {
        f(a, // an argument
          b, /* another */ c
          // the end
        );
        if (x) // why
        {
            y = 1;
        } // end of if
        // otherwise
        else if (z) /* inline */ { y = 2; }
        else
            y = 3; // short
        x = a + // first
            b;
        // last in the block

    }
        /* moved
             with its lines
           */
}
// the end

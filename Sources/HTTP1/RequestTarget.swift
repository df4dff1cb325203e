// Character classes and the forms of a request-target (RFC 9112 §3.2): the author of HeadReader puts them here and in Grammar.swift.

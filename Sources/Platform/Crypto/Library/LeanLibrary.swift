internal import COpenSSL

/// OpenSSL for connections to upstreams: all of its default provider, but of the decoders only those of the public keys that
/// a server's certificate can have.
///
/// To read the key of a certificate, OpenSSL 3.0 puts all decoders that it knows into a row of candidates, for each
/// certificate anew: private keys, parameters, PEM, and kinds of keys that TLS does not know. That takes a sixth of a
/// full handshake. A library context of one's own is where one can say what there is to choose from, and what strangers'
/// certificates reach is less.
package enum LeanLibrary {
  /// An OSSL_LIB_CTX, made once and never freed. nil, if it cannot be made, is OpenSSL's own, which does the same slower.
  ///
  /// Unsafe, because it is OpenSSL's pointer: made once, under Swift's lock for statics, and OpenSSL locks what changes in it.
  package nonisolated(unsafe) static let context: OpaquePointer? = {  // OSSL_LIB_CTX
    OpenSSLLibrary.start()
    defer { ERR_clear_error() }
    guard full != nil, decoders != nil, let context = OSSL_LIB_CTX_new() else { return nil }
    guard OSSL_PROVIDER_add_builtin(context, "lean", begin) == 1, OSSL_PROVIDER_load(context, "lean") != nil else {
      OSSL_LIB_CTX_free(context)
      return nil
    }
    return context
  }()

  /// The provider that all is taken from.
  nonisolated(unsafe) fileprivate static let full: OpaquePointer? = OSSL_PROVIDER_load(nil, "default")  // OSSL_PROVIDER

  /// The decoders that are left, with an empty entry as their end; nil: this OpenSSL names them in another way.
  nonisolated(unsafe) fileprivate static let decoders: UnsafePointer<OSSL_ALGORITHM>? = {
    var isCachedNowhere: Int32 = 0
    guard var next = OSSL_PROVIDER_query_operation(full, OSSL_OP_DECODER, &isCachedNowhere) else { return nil }
    var kept: [OSSL_ALGORITHM] = []
    while next.pointee.algorithm_names != nil {
      if isNeeded(next.pointee) { kept.append(next.pointee) }
      next += 1
    }
    guard !kept.isEmpty else { return nil }
    let list = UnsafeMutablePointer<OSSL_ALGORITHM>.allocate(capacity: kept.count + 1)
    for (index, decoder) in kept.enumerated() { list[index] = decoder }
    list[kept.count] = OSSL_ALGORITHM()
    return UnsafePointer(list)
  }()

  /// Keys that one of TLS's signature schemes is for (RFC 8446 section 4.2.3; ML-DSA: OpenSSL 3.5).
  private static let kinds = ["RSA", "RSA-PSS", "EC", "ED25519", "ED448", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]

  private static func isNeeded(_ decoder: OSSL_ALGORITHM) -> Bool {
    guard let names = decoder.algorithm_names, let properties = decoder.property_definition else { return false }
    // The first name; aliases follow behind colons.
    let name = String(cString: names).prefix { $0 != ":" }
    let traits = String(cString: properties).split(separator: ",")
    return kinds.contains(String(name)) && traits.contains("input=der")
      && traits.contains("structure=SubjectPublicKeyInfo")
  }

  /// The provider's functions, with an empty entry as their end (provider(7)). It has no end of its own: `full` is OpenSSL's.
  nonisolated(unsafe) fileprivate static let functions: UnsafePointer<OSSL_DISPATCH> = {
    let list = UnsafeMutablePointer<OSSL_DISPATCH>.allocate(capacity: 3)
    let asks = unsafeBitCast(query, to: Function.self)
    let shows = unsafeBitCast(capabilities, to: Function.self)
    list[0] = OSSL_DISPATCH(function_id: OSSL_FUNC_PROVIDER_QUERY_OPERATION, function: asks)
    list[1] = OSSL_DISPATCH(function_id: OSSL_FUNC_PROVIDER_GET_CAPABILITIES, function: shows)
    list[2] = OSSL_DISPATCH()
    return UnsafePointer(list)
  }()
}

private typealias Function = @convention(c) () -> Void

/// OSSL_provider_init_fn. The algorithms find what they need in the provider that they are of.
private func begin(
  _: OpaquePointer?, _: UnsafePointer<OSSL_DISPATCH>?, functions: UnsafeMutablePointer<UnsafePointer<OSSL_DISPATCH>?>?,
  context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> Int32 {
  functions?.pointee = LeanLibrary.functions
  context?.pointee = OSSL_PROVIDER_get0_provider_ctx(LeanLibrary.full)
  return 1
}

/// OSSL_FUNC_provider_query_operation_fn
private let query:
  @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafeMutablePointer<Int32>?) -> UnsafePointer<OSSL_ALGORITHM>? = {
    _, operation, isCachedNowhere in
    let all = OSSL_PROVIDER_query_operation(LeanLibrary.full, operation, isCachedNowhere)
    return operation == OSSL_OP_DECODER ? LeanLibrary.decoders : all
  }

/// OSSL_FUNC_provider_get_capabilities_fn: the groups of TLS.
private let capabilities:
  @convention(c) (
    UnsafeMutableRawPointer?, UnsafePointer<CChar>?,
    (@convention(c) (UnsafePointer<OSSL_PARAM>?, UnsafeMutableRawPointer?) -> Int32)?, UnsafeMutableRawPointer?
  ) -> Int32 = { _, capability, callback, argument in
    OSSL_PROVIDER_get_capabilities(LeanLibrary.full, capability, callback, argument)
  }

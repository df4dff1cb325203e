import Foundation

/// The public example keys of RFC 7515 and RFC 8037, as PEM.
package enum KnownKeys {
  /// Appendix A.2.
  package static let rsa = pem("PRIVATE KEY", rsaBytes)

  /// The same key as PKCS #1. PKCS #8 adds 26 bytes in front.
  package static var rsaPKCS1: String {
    pem("RSA PRIVATE KEY", (Data(base64Encoded: rsaBytes) ?? Data()).dropFirst(26).base64EncodedString())
  }

  /// Appendix A.3, as SEC 1 and as PKCS #8.
  package static let ec = pem("EC PRIVATE KEY", ecBytes)
  package static let ecPKCS8 = pem("PRIVATE KEY", ecPKCS8Bytes)

  /// The same key as PKCS #8, encrypted with the passphrase `swordfish`.
  package static let encrypted = pem("ENCRYPTED PRIVATE KEY", encryptedBytes)

  /// The Ed25519 key of RFC 8037 appendix A.1, as PKCS #8.
  package static let ed25519 = pem("PRIVATE KEY", "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g")

  package static func pem(_ label: String, _ base64: String) -> String {
    var lines = ["-----BEGIN \(label)-----"]
    var rest = Substring(base64)
    while !rest.isEmpty {
      lines.append(String(rest.prefix(64)))
      rest = rest.dropFirst(64)
    }
    return (lines + ["-----END \(label)-----", ""]).joined(separator: "\n")
  }

  private static let rsaBytes =
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCh+BYK4uPJtGXOjS1lYmM2K5J9vinh8CR3/BYlzJChNuOL2TSXxbbqY913Ee"
    + "Z8dCn5VrD7io8ImtxLaYk8wTM/U+3QGbh3hCUv7JFP5IV3aVlL6kKA0ywPVb9ilE8TA5a8bpvfbr3SvaNnjuygxmj3AbONv/s4yDQs4v5tJ/re"
    + "SlpIdJed1LnPmt7Ex1sFhSwsD174pcF1A5L5ROjtZMEQxrZHYJqkeDrrnGya11UxMFBji4NmXG9veoKjlnAqH2QbgtPr8jkiGUkftoaHLFcW9Q"
    + "r4NY2ai50Xw0Byj3+H2JoY2PyrZ62EWQwuz3WTOTY8BwNNb2BvniHgVFbK5emhAgMBAAECggEAEq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZ"
    + "D50LpXyWPEAeP88vLNO97IjlA7/GQ5sLKMgvfTeXZx9SE+7YwVol2NXOoAJe46sui395IW/GO+pWJ1O0BkTGoVEn2bKVRUCgu+GjBVaYLU6f3l"
    + "9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M/V51gfpRLI9JYanrC4D4qAdGcopV/0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoF"
    + "aFQT5Tw8bGUl/x/jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR/RQyGWSeWjnczT0QU91p1DhOVRuOopznQKBgQDgHMQQ60imZV1URk0KpL"
    + "ttoLhyt3SmqdEf/kgHePDdtzEafpAu+cS191R2JiuoF2yzWXnwFDcqGigp5BNr0AHQfD8/Lk8l1Mk09jxxCfui5nYooNyac8YFjm3vItzVCVDn"
    + "Ed3BbVWG8qf6deqElMGAg+C2V0L4oNXnP7LZcPAZRwKBgQC5A8R+CZW2MvRTLLHzwZkUXV866cff7tx6kqa0finGG0KgeqlaZPxgCZnFp7AeAc"
    + "CMtiynVlJ7vMVgePsLq6XtON4tB5kP9jAPrq3rbAOal78eUH5OcED6eNuCV8ixEu1eWcPNCS/l1OW1EnXUEoEHKl54Xrrz2uNwkgMTP1FZ1wKB"
    + "gAcCn1dwJKufzBWQxWQp1vsM5fggqPN1qGb5y0MAk3g7/Ls5bkUp5u9SN0Ai3Ya6hNnvWJMb7sXQX6U/zyO2M/hTip7tUeh7CXgwo59dkpN75g"
    + "JLVds29+DAncu3KXU4f2Fa+7bLNrur53k8KwPOq2bbuTG69QtV7Jr5MR0AHWKNAoGBAIf/evpitUf+4JYbLpvNXWcY052Mpz22aR84mY3nh3F2"
    + "LF2mjMJDpTg7FmuyPcVw6EcGyoAe9fa65iNqCq+jdw6PVNGo2hxfjSiZ8IIzHdsPXI89//pMjZcQK9r+CCoRjaZjOYiIDktVWZzmevJuv6WywU"
    + "qd57LE3Zar3dLSIkx1AoGAIYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd+DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd/QJQ3ydy5"
    + "cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp/gh6A5603k2+ZQwVK0JKSHuLFkuQ3U="

  private static let ecBytes =
    "MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus"
    + "9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ=="

  private static let ecPKCS8Bytes =
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIffH1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXU"
    + "GDy+5v20t7WAczNXvp7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt"

  private static let encryptedBytes =
    "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAj49ZbUl3HaQwICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEJ3kWdyh+B"
    + "4JOGDLzr5Xg4wEgZARQq9uawCWBjZMTgwukR7yYXU9ks4F9DwBOooVB6eMsvW9BDNVfgFsP57qo7wRsDxhIGBgqSx+2mR/5MielDpo0NKtlWZ+"
    + "rVaJaB8IYnOWiFUrNB6szYW0C8B9Qgd7hUeFQVcZk7Jt7MnT5GvmVwUxmnn4iWdKV1W3QwvKm6YLp5kK21S9v+x+zajjt9ZxvTQ="
}

private let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

/// base64url without padding (RFC 4648 section 5).
package func base64URL(_ bytes: [UInt8]) -> String {
  let bits = bytes.flatMap { byte in (0..<8).reversed().map { byte >> $0 & 1 } }
  let padded = bits + Array(repeating: 0, count: (6 - bits.count % 6) % 6)
  return String(
    decoding: stride(from: 0, to: padded.count, by: 6).map { start in
      alphabet[Int(padded[start..<(start + 6)].reduce(0) { $0 << 1 | $1 })]
    }, as: UTF8.self)
}

/// Decodes base64url.
package func octets(_ text: String) -> [UInt8]? {
  let bits = text.utf8.flatMap { character -> [UInt8] in
    let value = alphabet.firstIndex(of: character) ?? 0
    return (0..<6).reversed().map { UInt8(value >> $0 & 1) }
  }
  return stride(from: 0, through: bits.count - 8, by: 8).map { bits[$0..<($0 + 8)].reduce(0) { $0 << 1 | $1 } }
}

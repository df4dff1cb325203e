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

  /// The RSA key as PKCS #8, encrypted with the passphrase `swordfish`.
  package static let encryptedRSA = pem("ENCRYPTED PRIVATE KEY", encryptedRSABytes)

  /// An RSA key of 1024 bits, made for the tests.
  package static let shortRSA = pem("PRIVATE KEY", shortRSABytes)

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

  private static let encryptedRSABytes =
    "MIIFLTBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQI+j2m2urxZLICAggAMAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBAkqF+o"
    + "iOpp/Y5mTrUUdMjaBIIE0BFlIw54mpQvqkOuaYwhCsxYcXBm56xQWDeZ6R/4etiY9kiWStj8zS1hW3kOnxjoo0+Y1ooLHxLD9pi3f1e6i8Nm"
    + "Dpk935lT4vwYCTSd4GDXnf73LcBfCzKpIIdMaEIzSd0o54aeU4H1H6Ef2XVClujU9X2Vc3k4epqOHhPfP958oR/peuJaBMduqj4fFH8QaLUf"
    + "VUhS1sNi522Q+z11wMFXIywYs6SusiRmFxDUXtZhuYIDWIYp1aMg+ZLAomZHFZ9eceOD94Rc5EMP1L0E30icPNgPDc9eJ89omGvGp5eQLtf6"
    + "Gu11bv9Vpok3csijslLWUYW97C7AGAADgTcRQ0THW7q72j2Nbe2W2DPTbqtdIkp1t17Lhqh+z+NZsduihGRv9dJvIgnAAantRVhKnR7V/NbW"
    + "j7EJxkgdSNOUyl67BNBYatcECjZZdk2nKyX4HMnh8DMyx9fIB6uvt0pEjGee0En1+A0+8pbXb2BB+Z9sfweQxXk4HtIsufOYpjs6Um8k4jTI"
    + "ZbCm12UU9kMRhy7OjEE0sFl/nAeE8J3sBBIjBgM1GraTtCeAEE/Guf3JmF2d51ZkSNT4V2SjekK7/Ldq7Pl2wIC98LD2onHq8a1LdjCdIsXE"
    + "UEavpvYOdr+pD8Fa0fMy1KNRs9KgtYYCH5hAlckP57aa4fM7J1MZAF3tKuqkT5NFhk0GhutntYL0Y3OwVeS8j7XO/OblBEbzU5PI1bD9eYoy"
    + "i6r1KtNs1S/lBkss9xQ9DpUZoy2KJcnZaQyc/8YFmaxGAzup9jqypCluDfYQel26UxIVItP5el0KX8qGyJ5Cf+bRAYVverFee+VrCDEDFE43"
    + "J600Frk7cUb9sNwa3yl+B3vpbj9mAEzzVDDHJ+VrAqyhZE+Woh0MeICe7PBZIHJFZL4sHQv9c+8cw2eYy5SnQUwkN3PNoFNom4Mh0uWz2vOG"
    + "MZUhi6RW13R/dhwLIEXOipQby0m1TUblZ9ojbSrUCfN9MjRYzuTQQTMDPTKk5QMzx37ZE/h0ZA6YLuM2Q7SrPotZOfLgN96BdxLKP1EtNNsG"
    + "q8upbiad2vpC7s6AZZyltBaJA635D3+jOvPQW9AmCCJ+R1+vz/ZvXLwOEiXM0lQQQCpspnTLyMCeH/5xhSNYXW0JFDGkFPXPy1tDgHnJ7BXG"
    + "pDy6CWp0sOpek9YxJ9SGeD/PeQ6K6dyN3Hu6hkoYCpLDHUxMzIju50399LthivRXBo3Xni2/QjUsgadxexwYLno41fZoq4CJ95AnaaYUNvH0"
    + "ZfHQl2EJVAuDo4w3eWv/weQ0L9rLDpi/IbU45QzRPqEsjgR6buMwnB86xnvKhjmmhFmdWDSz2K0tlu6r1QzjAC5lkvkWqXBpIj+tW3yym2CB"
    + "xBcTmjzhUXxmLptb3NVgLn9qKAgO3bUs5wMCFn1yqN9Ftrv7BCeh/rhBE0AoPfI7Pu1w88J5lROpQchtjUX3egOMECzVOCiMsBh0mkTU8k+O"
    + "7bNSDZvGzBX/+Jf3qFRB9uGofXxIIv6+IjGJo2xzZ2pUC6mosxPP9DGjCz9K69h5q7B403xEUp8tRAjwSXyPvrR1aQ+2ekWZekvk8E9L/x9Q"
    + "sfXBuQC4YFv/3TDXR0aVOMakMmfULPFynqs+KFrrsFAg"

  private static let shortRSABytes =
    "MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAN1gQai0WbRsJYdSrtx0Bh+ajZn6rm13VJvymsYV5VPIqSLgokabk6rNdfck"
    + "y8oT31ZegtebKNV9ajKEUr+9jUnMd9ilJU8XBK1pLG7Di6tyHIUhSM2ydShyxlgENfI8/sRHK54IaNsINzEjC3Mlo/aDgnok4g6FjdPMMKIJ"
    + "9CUlAgMBAAECgYAcGOF8hhd0nN1OhaIH/Pnh/P3H81c8MY8dk/cs+Q54SdmdwaEXERv268jzK0pqRYdtMOWuc9UE87wM2VqfV3GdFdZMBh2g"
    + "L8OzHljaR3LgWY8FfYCMXt/vnfwE9QElpt4Mq3K+uQIxCmsHcJfwsYqApSoFgYKFE27D3CgXvWCKqQJBAO7nJzeE584vJ+euWbpxSOK00RKL"
    + "iCqDnPm2mADaVM+XToujVss17L2j7xulsdy1SLU3e+rdEWM0+Vwxf+qnzscCQQDtN//F19qH7f4WVESrIyG7MFWuKT1sezlswxZXQHMjy67O"
    + "0QdqeVii9qu6OpELCNVVUf1RWO3ule+VXGPBHPCzAkBcOBppUgJxEr7ireixEZ3C9W1nLTlov9lOg291lNH8ODn3qRuN4cj7A1b/YxyfR9ND"
    + "MKHC7YcStpYzQmBQYmptAkEAnkg8SPWTYhmh7aJCw3JIoo9IzFHGI2lBUtoFQSjG6v6QYH1HFntrcilnQnarqxI0zp5LiYjuEcFHwICKKyO1"
    + "UwJAJAugKVWupox8wAdthzUZ+OSUs78JRaZlri5RGv1c+xYTAE48AiHmo5cwkrMmgMf43CqOaKXAkcA3sNknGh+w0g=="

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

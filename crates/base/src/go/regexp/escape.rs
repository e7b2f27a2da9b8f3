//! Escapes that stand for one character, in and outside of classes.

use super::RegexpError;

/// Reads an escape at the start of `text`: the code of its character, which may be a surrogate, and what follows.
pub(super) fn character(text: &str) -> Result<(u32, &str), RegexpError> {
    let mut rest = text[1..].chars();
    let Some(letter) = rest.next() else {
        return Err(RegexpError::new("trailing backslash at end of expression", ""));
    };
    let code = match letter {
        'a' => Some(7),
        'f' => Some(0xc),
        'n' => Some(0xa),
        'r' => Some(0xd),
        't' => Some(9),
        'v' => Some(0xb),
        // One digit that is not zero would be a back reference, which RE2 does not have.
        '1'..='7' if !rest.as_str().starts_with(|it: char| it.is_digit(8)) => None,
        '0'..='7' => Some(octal(letter, &mut rest)),
        'x' => hexadecimal(&mut rest),
        other if other.is_ascii() && !other.is_ascii_alphanumeric() => Some(u32::from(other)),
        _ => None,
    };
    let rest = rest.as_str();
    code.map(|code| (code, rest)).ok_or_else(|| {
        RegexpError::new("invalid escape sequence", &text[..text.len() - rest.len()])
    })
}

/// Up to three octal digits.
fn octal(first: char, rest: &mut std::str::Chars<'_>) -> u32 {
    let mut code = first.to_digit(8).unwrap_or_default();
    for _ in 0..2 {
        let Some(digit) = rest.clone().next().and_then(|next| next.to_digit(8)) else { break };
        code = code * 8 + digit;
        rest.next();
    }
    code
}

/// `\x41` or `\x{41}`; what is wrong is consumed up to the wrong character, because Go's error shows it.
fn hexadecimal(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    let first = rest.next()?;
    if first != '{' {
        let (high, low) = (first.to_digit(16), rest.next().and_then(|it| it.to_digit(16)));
        return Some(high? * 16 + low?);
    }
    let (mut code, mut digits) = (0_u32, 0_u32);
    loop {
        match rest.next()? {
            '}' => return (digits > 0).then_some(code),
            digit => code = code * 16 + digit.to_digit(16)?,
        }
        if code > u32::from(char::MAX) {
            return None;
        }
        digits += 1;
    }
}
